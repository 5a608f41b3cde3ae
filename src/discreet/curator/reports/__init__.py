"""What a curator tells people: JSON views, caps in words, deployment records."""
