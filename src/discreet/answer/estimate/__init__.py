"""From noisy measurements to aggregates and their intervals."""
