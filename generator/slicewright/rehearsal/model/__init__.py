"""What a rehearsal plays, what it saw, and what that means: pure, without files, clock or network."""
