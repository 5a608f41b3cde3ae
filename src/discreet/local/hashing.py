"""Public hashes of texts and numbers, the same on every machine, and their exact transform."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError

Words = NDArray[np.uint64]


def fingerprints(values: Any) -> Words:
    """32 bits of BLAKE2b of each text, bytes or int.

    Example:
        >>> fingerprints(["a", "b"]).shape
        (2,)
    """
    flat = [values] if isinstance(values, str | bytes | int) else list(values)
    seen: dict[Any, int] = {}
    return np.fromiter(
        (seen[one] if one in seen else seen.setdefault(one, _fingerprint(one)) for one in flat),
        dtype=np.uint64,
        count=len(flat),
    )


def _fingerprint(value: Any) -> int:
    match value:
        case str():
            data = b"s" + value.encode("utf-8", "surrogatepass")
        case bytes():
            data = b"b" + value
        case bool():
            raise _strange()
        case int() | np.integer():
            data = b"i" + str(int(value)).encode()
        case _:
            raise _strange()
    return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest(), "little")


def _strange() -> InputError:
    return InputError(
        "a value that is no text, bytes or int",
        why="others have no form that all machines share",
        fix="write it as a text first",
    )


def multipliers(name: str, count: int) -> Words:
    """Public numbers for a family of hashes, made from its name."""
    data = hashlib.shake_256(name.encode()).digest(8 * count)
    return np.frombuffer(data, "<u8").astype(np.uint64)


def hash_rows(family: str, rows: int, width: int, prints: Words) -> NDArray[np.int64]:
    """Hash each fingerprint by each of `rows` functions into 0..width-1, a power of two.

    Multiply, add and shift: for 32-bit fingerprints two values collide with probability 1/width
    over the choice of the function (Dietzfelbinger 1996).
    """
    keys = multipliers(family, 2 * rows).reshape(2, rows, 1)
    shift = np.uint64(64 - width.bit_length() + 1)
    return np.asarray(((keys[0] * prints + keys[1]) >> shift).astype(np.int64))


def hash_one_each(
    family: str, which: NDArray[Any], width: int, rows: int, prints: Words
) -> NDArray[np.int64]:
    """Hash each fingerprint by its own function of the family."""
    keys = multipliers(family, 2 * rows).reshape(2, rows)
    shift = np.uint64(64 - width.bit_length() + 1)
    found: NDArray[np.int64] = ((keys[0][which] * prints + keys[1][which]) >> shift).astype(
        np.int64
    )
    return found


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
