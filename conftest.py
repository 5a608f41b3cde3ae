"""Fixed random bits for every test and every example of the documentation."""

import hashlib

import pytest

from discreet.noise.bits import Keystream, replaced


@pytest.fixture
def fixed_bits(request):
    """The same bits on every run, others for every test: the draws cannot flake."""
    stream = Keystream(hashlib.sha256(request.node.nodeid.encode()).digest())
    with replaced(lambda: stream):
        yield stream


@pytest.fixture(autouse=True)
def _no_draw_flakes(request):
    """Tests have fixed bits, but for long runs and for those about freshness."""
    if not any(map(request.node.get_closest_marker, ("audit", "fresh"))):
        request.getfixturevalue("fixed_bits")
