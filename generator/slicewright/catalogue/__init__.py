"""The TPU slices that exist, their names, and the problems of unknown names."""
