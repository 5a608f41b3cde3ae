"""Bit sources whose words are known beforehand."""

import numpy as np

from discreet.noise.bits import Keystream


class Scripted:
    """Says the given words, then goes on with a fixed keystream."""

    def __init__(self, words=()):
        self.script = [int(word) for word in words]
        self.rest = Keystream(bytes(32))

    def word(self):
        return self.script.pop(0) if self.script else self.rest.word()

    def words(self, count):
        return np.array([self.word() for _ in range(count)], dtype=np.uint64)


class Silent:
    """No more bits: whoever asks has left the path that needs none."""

    def word(self):
        raise AssertionError("asked for more bits")

    def words(self, count):
        raise AssertionError(f"asked for {count} more words")
