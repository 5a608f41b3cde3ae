"""What is asked of a target, and what it answers, read before it is believed."""

import numpy as np

from discreet.attacks.simulation import Reals
from discreet.errors import InputError


def check_effort(effort: int, counts: str) -> None:
    """Refuse an attack that does nothing."""
    if effort < 1:
        raise InputError(
            f"effort is {effort}", why=f"it counts {counts}", fix="pass effort of at least 1"
        )


def numbers(said: object, *shape: int) -> Reals:
    """An answer as finite numbers of this shape; of no shape, one number.

    Without it an answer of NaN is compared with something, that is false, and an attacker who was
    told nothing at all seems to have been kept from learning anything.

    Example:
        >>> float(numbers(3)), numbers([1, 2], 2).tolist()
        (3.0, [1.0, 2.0])
    """
    try:
        read = np.asarray(said, dtype=np.float64)
    except (TypeError, ValueError):
        raise _unusable(f"a {type(said).__name__}", shape) from None
    if read.shape != shape:
        raise _unusable(_told(read.shape), shape)
    if not np.isfinite(read).all():
        raise _unusable("what is not a finite number", shape)
    return read


def _unusable(found: str, shape: tuple[int, ...]) -> InputError:
    return InputError(
        f"the target answered with {found}",
        why=f"the attack reads {_told(shape)}, and finite",
        fix="let the target answer every question, with a number where it would rather not",
    )


def _told(shape: tuple[int, ...]) -> str:
    return f"an array of {' x '.join(map(str, shape))} numbers" if shape else "one number"
