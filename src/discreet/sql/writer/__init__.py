"""A plan into an engine's SQL."""
