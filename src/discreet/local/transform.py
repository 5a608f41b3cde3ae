"""The Walsh-Hadamard transform of integers, exactly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def walsh_hadamard(table: NDArray[Any]) -> NDArray[Any]:
    """Row-wise: sum over j of (-1)^<i, j> table[j], for rows of a power of two entries.

    Example:
        >>> walsh_hadamard(np.array([1, 0, 2, 0])).tolist()
        [3, 3, -1, -1]
    """
    found, other = table.copy(), np.empty_like(table)
    size, half = table.shape[-1], 1
    while half < size:
        shape = (-1, size // (2 * half), 2, half)
        source, target = found.reshape(shape), other.reshape(shape)
        np.add(source[:, :, 0], source[:, :, 1], out=target[:, :, 0])
        np.subtract(source[:, :, 0], source[:, :, 1], out=target[:, :, 1])
        found, other, half = other, found, 2 * half
    return found


def parity(words: NDArray[Any]) -> NDArray[np.uint8]:
    """Whether the number of ones is odd."""
    return np.asarray(np.bitwise_count(words) & np.uint8(1))
