"""An analyst's SQL into a plan, or a refusal that says why."""
