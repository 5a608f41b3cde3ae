"""Noisy measurements of the engine's exact integers."""
