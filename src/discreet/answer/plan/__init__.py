"""Planning: what is measured, how people are bounded, what it costs; public facts alone."""
