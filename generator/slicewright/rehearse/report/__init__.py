"""The report of a rehearsal in every form: JSON record, text, page."""
