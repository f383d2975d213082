"""The runs of a live cluster and why they wait or fail, from its objects only; nothing is guessed."""
