"""The client of a server, and the JSON that the two exchange."""
