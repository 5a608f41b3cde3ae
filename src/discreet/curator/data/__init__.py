"""The curator's folder and the tables in it: reading, registering, opening."""
