"""A clinic of made-up patients to try questions on: `discreet demo` and the page begin with it."""

from typing import Any, Final

import pyarrow as pa

from discreet import noise
from discreet.curator.budget import Budget
from discreet.curator.curator import Curator
from discreet.plan.schema import Bounds, Keys, Limits

WARDS: Final = {"Ward A": 0.31, "Ward B": 0.12, "Ward C": 0.55, "Ward D": 0.07}
"""The wards, and which share of their patients smokes."""

PATIENTS: Final = 4_000
NAME: Final = "demo_patients"
"""The name under which a server adds it."""


def make_patients() -> pa.Table:
    """Made-up patients, so the truth may be shown."""
    each = PATIENTS // len(WARDS)
    smokes = [noise.bernoulli(share, size=each) for share in WARDS.values()]
    return pa.table(
        {
            "id": range(PATIENTS),
            "ward": [ward for ward in WARDS for _ in range(each)],
            "age": [20 + int(age) for age in noise.below(60, size=PATIENTS)],
            "smokes": [bool(one) for ward in smokes for one in ward],
        }
    )


def add_clinic(curator: Curator, patients: pa.Table, name: str = "patients") -> None:
    """Protect the patients, one row each, by an epsilon of 3 in all."""
    facts: dict[str, Any] = {"ward": Keys(WARDS), "age": Bounds(0, 120)}
    curator.add(
        name,
        patients,
        unit="id",
        budget=Budget(epsilon=3),
        columns=facts,
        required=patients.column_names,
        limits=Limits(max_groups=1, max_rows=1),
    )
