"""The pure part of a rehearsal: scenarios, events and their meaning, without files, clock or network."""
