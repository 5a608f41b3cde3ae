"""A made-up clinic whose dossier everybody may read."""

from functools import lru_cache

import pyarrow as pa

from discreet.attacks.simulation import SplitMix64
from discreet.curator.budget import Budget
from discreet.curator.curator import Curator
from discreet.curator.reports.dossier import Dossier
from discreet.plan.schema import Bounds, Keys, Limits

_PATIENTS = 500


@lru_cache(maxsize=1)
def sample_dossier() -> Dossier:
    """The dossier of a clinic that was asked twice."""
    draws = SplitMix64(12)
    rows = pa.table(
        {
            "patient": range(_PATIENTS),
            "ward": [f"Ward {'ABCD'[one]}" for one in draws.below(4, _PATIENTS)],
            "age": 20 + draws.below(60, _PATIENTS),
        }
    )
    with Curator.in_memory() as curator:
        curator.add(
            "visits",
            rows,
            unit="patient",
            budget=Budget(epsilon=3),
            columns={"ward": Keys([f"Ward {one}" for one in "ABCD"]), "age": Bounds(0, 120)},
            limits=Limits(1, 1),
        )
        for text in ("COUNT(*) AS n", "AVG(age) AS age"):
            question = f"SELECT ward, {text} FROM visits GROUP BY ward"  # noqa: S608 - our own
            curator.sql(question, epsilon=0.5, analyst="ada")
        return curator.dossier()
