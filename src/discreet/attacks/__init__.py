"""Published attacks, each runnable against anybody's answers.

An attack is a small class: what it holds are public facts and, for scoring alone, the truth.
`run(target, effort)` plays the attacker against `target`, a callable that answers as the attacked
system does, and returns an `Outcome`. People are made up; draws come from `simulation`, which is
good for that and for no release.
"""

from importlib import import_module

_names = import_module("discreet.argument_names")  # which attacks do not stand on
__getattr__, __all__ = _names.exports(__name__)
