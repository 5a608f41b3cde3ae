"""Two translations: an analyst's SQL into a plan, and a plan into an engine's SQL."""
