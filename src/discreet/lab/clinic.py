"""A made-up clinic whose dossier everybody may read."""

from functools import lru_cache

from discreet.curator.curator import Curator
from discreet.curator.demo_clinic import add_clinic, make_patients
from discreet.curator.reports.dossier import Dossier


@lru_cache(maxsize=1)
def sample_dossier() -> Dossier:
    """The dossier of a clinic that was asked twice."""
    with Curator.in_memory() as curator:
        add_clinic(curator, make_patients())
        for text in ("COUNT(*) AS n", "AVG(age) AS age"):
            question = f"SELECT ward, {text} FROM patients GROUP BY ward"  # noqa: S608 - our own
            curator.sql(question, epsilon=0.5, analyst="ada")
        return curator.dossier()
