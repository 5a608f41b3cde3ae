"""Sixteen analysts at once for two seconds: no lost charge, and no error but spent budgets."""

import pytest

import discreet as dp
from many_analysts import Tally, ask_all, check, furnish, question
from running_server import serving

ANALYSTS = 16
SECONDS = 2.0
POCKET = 3
"""Questions that each analyst can pay for."""


def test_a_crowd_loses_no_charge_and_sees_no_error_but_a_spent_budget(tmp_path):
    folder = tmp_path / "clinic"
    with dp.Curator(folder) as curator:
        furnish(curator, ANALYSTS, pocket=POCKET)
    with serving(folder, workers=2, more=["--quantum", "0.05"]) as server:
        names = [f"analyst {n}" for n in range(ANALYSTS)]
        tokens = [server.token(name, "analyst") for name in names]
        tally = ask_all(server.url, tokens, SECONDS, least=POCKET + 2)

    with dp.Curator(folder) as curator:
        check(curator, tally)
        spent = [curator.budget("visits", analyst=name) for name in names]
    assert all(one.total.amount == one.limit.amount for one in spent)
    assert len(tally.answers) == POCKET * ANALYSTS
    assert tally.refusals >= 2 * ANALYSTS


def test_a_lost_charge_would_be_noticed(tmp_path):
    """The planted fault: an answer that nobody was charged for."""
    with furnish(dp.Curator(tmp_path / "clinic"), 1, pocket=5) as curator:
        release = curator.sql(question(0, 0), epsilon=0.01, analyst="analyst 0")
        honest = Tally(answers=[(0, 0, release.price.epsilon)])
        check(curator, honest)
        with pytest.raises(AssertionError):
            check(curator, Tally(answers=[*honest.answers, (0, 1, release.price.epsilon)]))
