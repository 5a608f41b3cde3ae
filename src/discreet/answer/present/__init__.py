"""The release, and the forms in which people and programs read it."""
