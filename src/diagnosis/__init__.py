"""diagnosis-harness."""
