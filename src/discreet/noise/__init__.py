"""Random bits become exact integer noise and exact choices. This package knows no privacy.

*Exact* means: given ideal random bits, the law of every draw is the law in its docstring, with
total variation distance zero. Parameters are integers, fractions, decimals or floats; a float is
read as the decimal it prints as. Scores are data, and a float there is the double it is. There is
no seed and no generator to pass: bits come from a cryptographic stream that the operating system
keys afresh for each call.

>>> from discreet import noise
>>> noise.discrete_laplace(10, size=3).shape
(3,)
"""

from discreet.noise.coins import bernoulli, bernoulli_exp
from discreet.noise.exponential import discrete_laplace, geometric
from discreet.noise.gaussian import discrete_gaussian, rounded_gaussian
from discreet.noise.selection import choose, permute_and_flip
from discreet.noise.staircase import staircase
from discreet.noise.student import rounded_student
from discreet.noise.uniform import below

__all__ = [
    "below",
    "bernoulli",
    "bernoulli_exp",
    "choose",
    "discrete_gaussian",
    "discrete_laplace",
    "geometric",
    "permute_and_flip",
    "rounded_gaussian",
    "rounded_student",
    "staircase",
]
