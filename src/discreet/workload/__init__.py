"""Many questions at once: coordinated noise where independent noise would drown the answers."""
