"""Reports for people: JSON views, caps in words, deployment records."""
