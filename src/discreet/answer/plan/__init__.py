"""What will be measured, how people are bounded, and what it costs: public facts alone."""
