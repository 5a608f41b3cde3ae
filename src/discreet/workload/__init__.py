"""Many questions at once: coordinated noise where independent noise would drown the answers."""

from discreet.argument_names import exports

__getattr__, __all__ = exports(__name__)
