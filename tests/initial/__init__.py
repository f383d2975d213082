"""What slicewright init writes."""
