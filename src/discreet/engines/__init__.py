"""Engines run what the plan compiles to and stream exact integers back."""
