"""From the engine's exact integers to noisy measurements."""
