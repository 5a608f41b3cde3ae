"""How much work an accountant may do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Precision:
    """How much work a line may be: speed knobs that cannot touch soundness.

    `most` frequencies at most; the phantom Gaussian is made as small as costs about `excess` in
    epsilon; `listed` joint outcomes at most are enumerated exactly; the search for epsilon stops
    `near` to log delta, on the safe side.
    """

    most: int = 1024
    excess: float = 1e-6
    listed: int = 2**11
    near: float = 1e-9


INTERACTIVE = Precision()
THOROUGH = Precision(most=2**14, excess=8e-6, listed=2**14, near=1e-11)
