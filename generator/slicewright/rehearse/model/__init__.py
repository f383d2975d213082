"""What a rehearsal runs, what it saw, and what that means: pure, without files, clock or network."""
