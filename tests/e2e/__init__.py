"""What the overlays do on a real API server with JobSet, Kueue, the scheduler and simulated TPU nodes."""
