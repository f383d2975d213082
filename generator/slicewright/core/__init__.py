"""The pure core: no file, clock, process or environment is read below this package."""
