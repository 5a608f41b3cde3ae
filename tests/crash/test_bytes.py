"""A curator's folder with one bit changed: refused, or as good as before; never another answer."""

import os
import random
import shutil

import pytest

import discreet as dp
from clinic_curator import BY_CITY, COUNT, add_visits, spent
from discreet.errors import DiscreetError

FILES = {
    "curator.json": 100,
    "tables.json": 300,
    "ledger.sqlite": 1000,
    "ledger.sqlite.head": 100,
    "data": 200,
}
"""How many bits of each are changed, one at a time."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder, the answer that it keeps, and what that took."""
    made = tmp_path_factory.mktemp("whole") / "c"
    with add_visits(dp.Curator(made)) as curator:
        curator.group("lab", "visits", ["alice"], dp.Budget(epsilon=1, delta=1e-6))
        told = curator.sql(BY_CITY, epsilon=0.1)
        return made, told, spent(curator)


def change_a_bit(path, chance):
    """Change one bit, and leave the file's time as it was."""
    before, packed = path.stat(), bytearray(path.read_bytes())
    packed[chance.randrange(len(packed))] ^= 1 << chance.randrange(8)
    path.write_bytes(packed)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.audit
@pytest.mark.parametrize("name", FILES)
def test_one_bit_is_refused_or_harmless(folder, tmp_path, name):
    whole, told, gone = folder
    chance = random.Random(name)  # noqa: S311 - which bits
    for turn in range(FILES[name]):
        copy = tmp_path / str(turn)
        shutil.copytree(whole, copy)
        found = copy / name
        change_a_bit(next(found.iterdir()) if found.is_dir() else found, chance)
        try:
            with dp.Curator(copy) as curator:
                before = spent(curator)
                again = curator.sql(BY_CITY, epsilon=0.1)
                # What is not found any more is asked anew, and paid for.
                assert again == told or spent(curator) > before
                curator.sql(COUNT, epsilon=0.1)
                assert before == gone or not curator.ledger.verify().ok
        except DiscreetError:
            pass
        shutil.rmtree(copy)
