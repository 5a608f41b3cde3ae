import ast
import hashlib
import multiprocessing
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import noise
from discreet.noise.bits import (
    FEW,
    Keystream,
    SystemBits,
    count_drawn,
    keyed,
    metered,
    open_source,
    replaced,
)

SRC = Path(discreet.__file__).parent

pytestmark = pytest.mark.fresh


def test_the_keystream_is_aes_256_in_counter_mode():
    # The published encryption of the zero block under the zero key.
    expected = bytes.fromhex("dc95c078a2408989ad48a21492842087")

    assert Keystream(bytes(32)).words(2).tobytes() == expected


def test_words_are_the_same_however_they_are_asked_for():
    whole = Keystream(bytes(32)).words((1 << 17) + 5)
    stream = Keystream(bytes(32))
    pieces = [np.array([stream.word()], dtype=np.uint64), stream.words(1 << 17), stream.words(4)]

    assert np.array_equal(whole, np.concatenate(pieces))


def test_every_request_has_a_key_of_its_own():
    firsts = {open_source(FEW).word() for _ in range(1000)}

    assert len(firsts) == 1000


def test_few_draws_come_from_the_system_and_many_from_the_cipher():
    assert isinstance(open_source(FEW - 1), SystemBits)
    assert isinstance(open_source(FEW), Keystream)
    assert SystemBits().words(7).shape == (7,)


def test_a_replaced_source_ends_with_its_context_and_stays_in_its_thread():
    fixed = Keystream(bytes(32))
    with replaced(lambda: fixed):
        assert open_source(100) is fixed
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(open_source, 100).result() is not fixed

    assert open_source(100) is not fixed


def _draws(_: int = 0) -> list[int]:
    return [*noise.discrete_laplace(2**50, size=50), noise.discrete_laplace(2**50)]


def test_forked_children_never_repeat_a_parent_or_a_sibling():
    noise.discrete_laplace(2**50, size=50)  # whatever state there could be, there is now
    readers = {}
    for _ in range(4):
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:  # pragma: no cover - the child's lines are not traced
            os.write(writer, np.array(_draws(), dtype=np.int64).tobytes())
            os._exit(0)
        os.close(writer)
        readers[reader] = child
    children = [np.frombuffer(os.read(reader, 4096), dtype=np.int64).tolist() for reader in readers]
    for reader, child in readers.items():
        os.close(reader)
        os.waitpid(child, 0)
    everyone = sum(children, _draws())

    assert [len(child) for child in children] == [51] * 4
    assert len(set(everyone)) == 5 * 51


def test_threads_and_process_pools_never_repeat_a_draw():
    with ThreadPoolExecutor(8) as pool:
        threads = [draw for draws in pool.map(_draws, range(8)) for draw in draws]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        processes = [draw for draws in pool.map(_draws, range(4)) for draw in draws]

    assert len(set(threads + processes)) == 12 * 51


def test_a_generator_that_survives_fork_would_be_caught():
    stream = Keystream(bytes(32))
    with replaced(lambda: stream):
        reader, writer = os.pipe()
        if (process := os.fork()) == 0:  # pragma: no cover - the child's lines are not traced
            os.write(writer, np.array(_draws(), dtype=np.int64).tobytes())
            os._exit(0)
        os.close(writer)
        child = np.frombuffer(os.read(reader, 4096), dtype=np.int64).tolist()
        os.close(reader)
        os.waitpid(process, 0)

        assert child == _draws()


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda p: str(p.relative_to(SRC)))
def test_no_release_path_uses_a_generator_made_for_simulation(path):
    tree = ast.parse(path.read_text())
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    attributes = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }

    assert not imported & {"random", "numpy.random"}
    assert not attributes & {"np.random", "numpy.random"}


def test_the_bytes_of_all_requests_in_a_context_are_counted():
    with metered() as meter:
        noise.discrete_laplace(10, size=1000)
        many = meter.bytes
        noise.discrete_laplace(10)
    assert 8 * 1000 <= many < meter.bytes
    noise.discrete_laplace(10, size=1000)
    with metered() as other, replaced(lambda: Keystream(bytes(32))):
        assert open_source(100).words(3).shape == (3,)
        assert open_source(1).word() == Keystream(bytes(32)).word()
    assert other.bytes == 32


def test_a_key_and_a_label_give_the_same_requests_the_same_noise_and_others_another():
    def drawn(key, label):
        with keyed(key, label):
            return tuple(tuple(noise.discrete_laplace(10**6, size=20).tolist()) for _ in range(2))

    first = drawn(b"k" * 32, b"1")
    assert drawn(b"k" * 32, b"1") == first
    rest = [drawn(b"k" * 32, b"2"), drawn(b"l" * 32, b"1"), drawn(b"k" * 32, bytes(8) + b"1")]
    streams = {stream for draws in (first, *rest) for stream in draws}
    assert len(streams) == 8


def test_bytes_that_others_drew_are_counted_where_somebody_counts():
    count_drawn(5)
    with metered() as meter:
        count_drawn(7)
    assert meter.bytes == 7


@pytest.fixture(scope="module")
def shared():
    return open_source(100).word(), os.urandom(16), secrets.token_hex(32)


def test_fixtures_that_tests_share_have_the_same_bits_on_every_run(shared):
    name = "tests/unit/noise/test_bits.py shared 0"
    bits, first, second = (
        hashlib.sha256(f"{name}{end}".encode()).digest() for end in ("", " secret 0", " secret 1")
    )
    assert shared == (Keystream(bits).word(), first[:16], second.hex())
