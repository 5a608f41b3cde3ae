"""Fixed random bits for every test, fixture and example of the documentation, and one thread each.

Workers share the cores. Threads of a linear algebra library that wait for a core do so by spinning:
with several to a worker, small products take ten times the CPU.
"""

import hashlib
import itertools
import os
import secrets
from contextlib import contextmanager

for library in ("OPENBLAS", "OMP", "MKL"):  # they look when numpy and torch are imported
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import pytest  # noqa: E402

from discreet.noise.bits import Keystream, replaced  # noqa: E402


@contextmanager
def bits_of(name):
    """The same bits on every run, others for every name: the draws cannot flake.

    Nor can which rows of a person are kept: a question's secret is made of 16 bytes, or of the key
    of a curator's accounts, which has 32.
    """
    asked, urandom, token_hex = itertools.count(), os.urandom, secrets.token_hex
    stream = Keystream(hashlib.sha256(name.encode()).digest())

    def secret(size):
        return hashlib.sha256(f"{name} secret {next(asked)}".encode()).digest()[:size]

    with replaced(lambda: stream), pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", lambda n: secret(n) if n == 16 else urandom(n))
        patch.setattr(
            secrets, "token_hex", lambda n=None: secret(n).hex() if n == 32 else token_hex(n)
        )
        yield stream


@pytest.fixture
def fixed_bits(request):
    with bits_of(request.node.nodeid) as stream:
        yield stream


@pytest.fixture(autouse=True)
def _no_draw_flakes(request):
    """Tests have fixed bits, but for long runs and for those about freshness."""
    if any(map(request.node.get_closest_marker, ("audit", "fresh"))):
        with replaced(None):  # a fixture that tests share may have left others when it ended
            yield
    else:
        request.getfixturevalue("fixed_bits")
        yield


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """So have fixtures that tests share, whichever test comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with bits_of(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
        return (yield)
