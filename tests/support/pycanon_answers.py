"""What pycanon says of a few hundred tables, kept in a file: a second opinion on k and l.

Run as a script, it builds an environment of its own for pycanon, asks it, and writes the file.
pycanon is not installed beside this package, since it asks for exact versions of numpy, pandas and
scipy, and not used by it, since it leaves rows out that have a missing quasi-identifier.
"""

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from discreet.attacks.k_anonymity import HOSPITAL_A, HOSPITAL_B
from discreet.attacks.simulation import SplitMix64

KEPT = Path(__file__).parents[1] / "golden" / "pycanon.json"
VERSION = "1.3.6"
MANY = 300
AGES = ("<20", "[20, 30)", "[30, 40)", ">=40")
SENSITIVE = "condition"

# A class with one person whose postcode is missing, and five others.
MISSING = [{"postcode": "1010", SENSITIVE: "flu"}] * 5 + [{"postcode": None, SENSITIVE: "flu"}]

ASK = f"""
import json, sys, warnings
import pandas, pycanon
from pycanon.anonymity import k_anonymity, l_diversity
assert pycanon.__version__ == "{VERSION}"
answers = []
for rows in json.load(sys.stdin):
    table = pandas.DataFrame(rows)
    quasi = [name for name in table.columns if name != "{SENSITIVE}"]
    answers.append([k_anonymity(table, quasi), l_diversity(table, quasi, ["{SENSITIVE}"])])
print(json.dumps(answers))
"""


def tables():
    """The two hospitals, the table with a missing value, and tables drawn from fixed seeds."""
    return [[*HOSPITAL_A], [*HOSPITAL_B], MISSING, *map(drawn, range(MANY))]


def drawn(seed):
    """A table of 1 to 80 rows with one to three quasi-identifiers: ranges, whole numbers, texts."""
    draws = SplitMix64(seed)
    rows, columns, values = (1 + int(draws.below(most, 1)[0]) for most in (80, 3, 6))
    cells = {
        "age": [AGES[i] for i in draws.below(1 + seed % 4, rows)],
        "visits": draws.below(2, rows).tolist(),
        "postcode": [f"{1010 + 10 * i}" for i in draws.below(3, rows)],
    }
    named = dict(list(cells.items())[:columns])
    named[SENSITIVE] = [f"c{i}" for i in draws.below(values, rows)]
    return [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]


def asked(folder):
    """k and l of every table, by a fresh pycanon in a folder."""
    venv.create(folder, with_pip=True)
    python = Path(folder) / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", f"pycanon=={VERSION}"], check=True)
    said = subprocess.run(
        [python, "-c", ASK],
        input=json.dumps(tables()),
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(said.stdout)


def kept():
    """The answers in the file."""
    return json.loads(KEPT.read_text(encoding="utf-8"))["answers"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as fresh:
        found = {"pycanon": VERSION, "answers": asked(fresh)}
    KEPT.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(found['answers'])} tables\n")
