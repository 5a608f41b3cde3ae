"""What many guarantees add up to when they are fixed in advance."""
