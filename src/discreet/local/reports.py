"""Reports as bytes: a frame names the protocol's parameters, itself, and how many reports follow.

    4 bytes   "dlr" and the version of this form, 1
    8 bytes   the digest of the protocol's parameters
    16 bytes  a random name, so that a frame that arrives twice counts once
    4 bytes   how many reports follow, little-endian
    then the reports, each as wide as the protocol says

Frames may follow each other: what many devices sent can be put together as it came.
"""

import secrets
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Octets = NDArray[np.uint8]

MAGIC = b"dlr\x01"
HEAD = struct.Struct("<4s8s16sI")


def write_frame(digest: bytes, payloads: Octets, name: bytes | None = None) -> bytes:
    """One frame of reports, a row each."""
    head = HEAD.pack(MAGIC, digest, name or secrets.token_bytes(16), len(payloads))
    return head + payloads.tobytes()


@dataclass(frozen=True, slots=True)
class Frames:
    """Reports that belong together: `names` of their frames, and all of their rows."""

    names: list[bytes]
    rows: Octets
    is_single: bool
    """Whether there is a name for each row; otherwise one for all of them."""

    def to_bytes(self, digest: bytes) -> bytes:
        """The frames, as they travel."""
        if not self.is_single:
            return write_frame(digest, self.rows, self.names[0])
        heads = b"".join(HEAD.pack(MAGIC, digest, name, 1) for name in self.names)
        table = np.frombuffer(heads, np.uint8).reshape(-1, HEAD.size)
        return np.concatenate([table, self.rows], axis=1).tobytes()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The number of unreadable reports, and why."""

    reason: str
    reports: int


def read_frames(data: bytes, digest: bytes, width: int) -> Iterator[Frames | Unreadable]:
    """Read frames until the first broken one: the position of the next is unknown."""
    if single := _singles(data, digest, width):
        yield single
        return
    at = 0
    while at < len(data):
        if len(data) - at < HEAD.size or data[at : at + 4] != MAGIC:
            yield Unreadable("malformed", 1)
            return
        _, own, name, count = HEAD.unpack_from(data, at)
        at += HEAD.size
        if own != digest:  # its width is another's: what follows cannot be found
            yield Unreadable("wrong parameters", max(1, min(count, len(data) - at)))
            return
        if len(data) - at < count * width:
            yield Unreadable("malformed", 1)
            return
        rows = np.frombuffer(data, np.uint8, count * width, at).reshape(count, width)
        yield Frames([name], rows, is_single=False)
        at += count * width


def _singles(data: bytes, digest: bytes, width: int) -> Frames | None:
    """The usual upload, many frames of one report, without a loop."""
    whole = HEAD.size + width
    if not data or len(data) % whole:
        return None
    table = np.frombuffer(data, np.uint8).reshape(-1, whole)
    start = np.frombuffer(MAGIC + digest, np.uint8)
    one = np.frombuffer(struct.pack("<I", 1), np.uint8)
    if not ((table[:, :12] == start).all() and (table[:, 28:32] == one).all()):
        return None
    packed = np.ascontiguousarray(table[:, 12:28]).tobytes()
    names = [packed[i : i + 16] for i in range(0, len(packed), 16)]
    return Frames(names, table[:, HEAD.size :], is_single=True)
