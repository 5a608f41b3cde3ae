"""Fixed random bits for every test and every example of the documentation, and one thread each.

Workers share the cores. Threads of a linear algebra library that wait for a core do so by spinning:
with several to a worker, small products take ten times the CPU.
"""

import hashlib
import itertools
import os

for library in ("OPENBLAS", "OMP", "MKL"):  # they look when numpy and torch are imported
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import pytest  # noqa: E402

from discreet.noise.bits import Keystream, replaced  # noqa: E402


@pytest.fixture
def fixed_bits(request):
    """The same bits on every run, others for every test: the draws cannot flake.

    Nor can which rows of a person are kept: 16 bytes are what a question's secret is made of.
    """
    test, asked, fresh = request.node.nodeid, itertools.count(), os.urandom
    stream = Keystream(hashlib.sha256(test.encode()).digest())

    def secret(size):
        if size != 16:
            return fresh(size)
        return hashlib.sha256(f"{test} secret {next(asked)}".encode()).digest()[:size]

    with replaced(lambda: stream), pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", secret)
        yield stream


@pytest.fixture(autouse=True)
def _no_draw_flakes(request):
    """Tests have fixed bits, but for long runs and for those about freshness."""
    if not any(map(request.node.get_closest_marker, ("audit", "fresh"))):
        request.getfixturevalue("fixed_bits")
