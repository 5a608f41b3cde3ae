"""A curator's folder with one dataset, for servers to serve."""

import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp

CANARY = 8_675_309
"""A value of one person that must never be seen outside."""

CANARY_TEXT = "quetzalcoatlus"


def rows(people=3000):
    """Visits of so many people; one of them has the canaries."""
    return pa.table(
        {
            "patient": list(range(people)),
            "city": [("Haifa", "Austin", "Haifa")[i % 3] for i in range(people)],
            "age": [i % 90 for i in range(people)],
            "cost": [float(CANARY) if i == 7 else float(i % 500) for i in range(people)],
            "note": [CANARY_TEXT if i == 7 else "fine" for i in range(people)],
        }
    )


def make(where, *, people=3000, epsilon=1000, name="clinic.discreet"):
    """The folder of a new curator."""
    source = where / "visits.parquet"
    pq.write_table(rows(people), source)
    folder = where / name
    with dp.Curator(folder) as curator:
        curator.add(
            "visits",
            source,
            unit="patient",
            budget=dp.Budget(epsilon=epsilon, delta=1e-3),
            columns={
                "city": dp.Keys(["Austin", "Haifa"]),
                "age": dp.Bounds(0, 120),
                "cost": dp.Bounds(0, 1000),
            },
            limits=dp.Limits(1, 1),
        )
    return folder
