"""Census-style releases: many tables at all levels of a geography for one price."""
