"""A rehearsal: what is to be played, what was seen, what it means. The playing itself is the shell's."""
