"""Aggregates and their intervals, computed from noisy measurements."""
