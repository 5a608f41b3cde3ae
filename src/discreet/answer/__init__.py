"""Split the budget over measurements, add noise, post-process, and build the release."""
