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

from discreet.argument_names import public
from discreet.noise.coins import bernoulli as bernoulli
from discreet.noise.coins import bernoulli_exp as bernoulli_exp
from discreet.noise.exponential import discrete_laplace as discrete_laplace
from discreet.noise.exponential import geometric as geometric
from discreet.noise.gaussian import discrete_gaussian as discrete_gaussian
from discreet.noise.gaussian import rounded_gaussian as rounded_gaussian
from discreet.noise.selection import choose as choose
from discreet.noise.selection import permute_and_flip as permute_and_flip
from discreet.noise.staircase import staircase as staircase
from discreet.noise.student import rounded_student as rounded_student
from discreet.noise.uniform import below as below

__all__ = public("noise")  # noqa: PLE0605 - type checkers read the imports
