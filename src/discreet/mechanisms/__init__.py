"""Mechanisms: sensitivity in; a private answer, its guarantee and its error out.

Every mechanism has one face: `M(parameters).release(value)`, `.guarantee` (a `discreet.privacy`
object that carries its neighbours), `.error(confidence)` and `.claim` (what an auditor tests).
`sensitivity` knows how far one person moves the common statistics; `postprocessing` improves
numbers that were released already.

>>> from discreet.mechanisms import Laplace, sensitivity
>>> total = Laplace(epsilon=0.5, sensitivity=sensitivity.total(0, 10))
>>> total.scale, total.error(0.95)
(Fraction(20, 1), 60.0)
"""

from discreet.argument_names import exports

__getattr__, __all__ = exports(__name__)
