"""Random words made on the GPU that uses them: the stream of ChaCha20 under a fresh key (RFC 8439).

A block of the stream is a function of the key and its number alone, so blocks are computed side by
side. The order of the words is the kernel's own. A process trusts the kernel only after its first
blocks were found equal to those of `cryptography`.
"""

from functools import cache
from typing import Final

import numpy as np
import torch
import triton
import triton.language as tl
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import InvariantBroken

_AT_ONCE: Final = 256
_WORDS: Final = 8  # words of 64 bits in a block


@triton.jit
def _quarter_round(a, b, c, d):
    a += b
    d ^= a
    d = (d << 16) | (d >> 16)
    c += d
    b ^= c
    b = (b << 12) | (b >> 20)
    a += b
    d ^= a
    d = (d << 8) | (d >> 24)
    c += d
    b ^= c
    b = (b << 7) | (b >> 25)
    return a, b, c, d


@triton.jit
def _blocks(out, key, count, AT_ONCE: tl.constexpr):  # noqa: N803 - triton's
    """One lane computes one block; word j of block i is stored at j * count + i."""
    number = tl.program_id(0) * AT_ONCE + tl.arange(0, AT_ONCE)
    zero = tl.zeros([AT_ONCE], tl.uint32)
    k0 = zero + tl.load(key).to(tl.uint32, bitcast=True)
    k1 = zero + tl.load(key + 1).to(tl.uint32, bitcast=True)
    k2 = zero + tl.load(key + 2).to(tl.uint32, bitcast=True)
    k3 = zero + tl.load(key + 3).to(tl.uint32, bitcast=True)
    k4 = zero + tl.load(key + 4).to(tl.uint32, bitcast=True)
    k5 = zero + tl.load(key + 5).to(tl.uint32, bitcast=True)
    k6 = zero + tl.load(key + 6).to(tl.uint32, bitcast=True)
    k7 = zero + tl.load(key + 7).to(tl.uint32, bitcast=True)
    c0, c1, c2, c3 = zero + 0x61707865, zero + 0x3320646E, zero + 0x79622D32, zero + 0x6B206574
    at = number.to(tl.uint32)
    x0, x1, x2, x3, x4, x5, x6, x7 = c0, c1, c2, c3, k0, k1, k2, k3
    x8, x9, x10, x11, x12, x13, x14, x15 = k4, k5, k6, k7, at, zero, zero, zero
    for _ in range(10):
        x0, x4, x8, x12 = _quarter_round(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter_round(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter_round(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter_round(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter_round(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter_round(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter_round(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter_round(x3, x4, x9, x14)
    inside = number < count
    place = out + number
    _store(place, inside, count, x0 + c0, x1 + c1, x2 + c2, x3 + c3)
    _store(place + 4 * count, inside, count, x4 + k0, x5 + k1, x6 + k2, x7 + k3)
    _store(place + 8 * count, inside, count, x8 + k4, x9 + k5, x10 + k6, x11 + k7)
    _store(place + 12 * count, inside, count, x12 + at, x13, x14, x15)


@triton.jit
def _store(place, inside, count, a, b, c, d):
    tl.store(place, a.to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + count, b.to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 2 * count, c.to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 3 * count, d.to(tl.int32, bitcast=True), mask=inside)


def device_words(key: NDArray[np.uint64], count: int, device: torch.device) -> Tensor:
    """`count` words from a key of four words that nothing else uses; at most 2^30."""
    _check(device)
    return _stream(key, -(-count // _WORDS), device).view(torch.int64)[:count]


def _stream(key: NDArray[np.uint64], blocks: int, device: torch.device) -> Tensor:
    blocks += blocks % 2
    out = torch.empty(16 * blocks, dtype=torch.int32, device=device)
    words = torch.from_numpy(key.view(np.int32).copy()).to(device)
    with torch.cuda.device(device):
        _blocks[(triton.cdiv(blocks, _AT_ONCE),)](out, words, blocks, AT_ONCE=_AT_ONCE)
    return out


@cache
def _check(device: torch.device) -> None:
    """Compare the first blocks of a known key with another implementation, once."""
    key, blocks = np.arange(7, 11, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15), 2 * _AT_ONCE
    cipher = Cipher(algorithms.ChaCha20(key.tobytes(), bytes(16)), mode=None).encryptor()
    right = np.frombuffer(cipher.update(bytes(64 * blocks)), np.int32)
    found = _stream(key, blocks, device).view(16, blocks).T.cpu().numpy()
    if not np.array_equal(found.ravel(), right):
        why = "its driver or compiler computes something else"
        fix = "train on the CPU, and report the versions of torch and triton"
        raise InvariantBroken("random words of a GPU that are not ChaCha20's", why=why, fix=fix)
