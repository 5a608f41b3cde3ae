"""Caps of datasets, analysts, groups and links; raises; roles."""

import io
from fractions import Fraction

import pytest

import discreet as dp
from clinic_curator import ABOUT, BUDGET, BY_CITY, COUNT, add_visits, spent
from discreet.errors import BudgetError, InputError
from visits import clinic


@pytest.fixture
def curator():
    with dp.Curator.in_memory() as made:
        yield add_visits(made)


def test_an_analyst_is_held_to_their_own_cap_within_the_dataset(curator):
    curator.grant("alice", "visits", dp.Budget(epsilon=0.2, delta=1e-7))
    alice, bob = curator.as_analyst("alice"), curator.as_analyst("bob")
    alice.sql(COUNT, epsilon=0.1)
    before = spent(curator)

    with pytest.raises(BudgetError, match="analyst alice within visits"):
        alice.sql(BY_CITY, epsilon=1)
    assert spent(curator) == before
    bob.sql(BY_CITY, epsilon=1)
    assert alice.budget("visits").total == curator.budget("visits", analyst="alice").total


def test_colluding_analysts_share_the_cap_of_the_dataset(curator):
    def collude():
        for i in range(100):
            curator.as_analyst(f"analyst {i}").sql(COUNT, epsilon=0.5 + i / 100)

    with pytest.raises(BudgetError, match="left to dataset visits"):
        collude()

    left = curator.budget("visits").left
    assert 0 <= left.amount < curator.budget("visits").limit.amount / 4


def test_an_answer_that_another_paid_for_costs_the_dataset_nothing_and_the_analyst_its_price(
    curator,
):
    curator.grant("bob", "visits", dp.Budget(epsilon=1, delta=1e-7))
    first = curator.as_analyst("alice").sql(COUNT, epsilon=0.1)
    before = spent(curator)

    assert curator.as_analyst("bob").sql(COUNT, epsilon=0.1) == first
    assert spent(curator) == before
    assert spent(curator, analyst="bob") == before


def test_a_group_of_analysts_is_held_to_one_cap(curator):
    account = curator.group("lab", "visits", ["alice", "bob"], dp.Budget(rho=0.003))
    curator.as_analyst("alice").sql(COUNT, epsilon=0.3)

    with pytest.raises(BudgetError, match="group lab within visits"):
        curator.as_analyst("bob").sql(BY_CITY, epsilon=0.4)
    curator.as_analyst("carol").sql(BY_CITY, epsilon=0.4)
    assert account.holder.name == "lab"


def test_a_group_without_a_cap_counts_what_it_learns(curator):
    curator.group("lab", "visits", ["alice", "bob"])
    curator.as_analyst("alice").sql(COUNT, epsilon=0.1)
    curator.as_analyst("bob").sql(BY_CITY, epsilon=0.1)

    by_holder = {str(one.holder): one for one in curator.as_auditor().accounts()}
    assert by_holder["group lab within visits"].spent == spent(curator)


def test_linked_datasets_share_what_one_person_may_lose(curator):
    curator.add("bills", clinic(100), **ABOUT, budget=BUDGET)
    curator.sql(COUNT, epsilon=0.1)
    curator.link("people", ["visits", "bills"], dp.Budget(epsilon=0.5, delta=1e-6))

    with pytest.raises(BudgetError, match="link people"):
        curator.sql("SELECT COUNT(*) AS n FROM bills", epsilon=1)
    curator.sql("SELECT COUNT(*) AS n FROM bills", epsilon=0.1)
    total = next(one for one in curator.ledger.accounts() if one.holder.kind == "link")
    assert total.spent[0] == spent(curator)[0] + spent(curator, "bills")[0]


def test_a_raise_is_an_entry_with_its_reason(curator):
    with pytest.raises(BudgetError):
        curator.sql(COUNT, epsilon=5)
    curator.raise_budget("visits", dp.Budget(epsilon=20, delta=1e-6), reason="board, 12 May")
    curator.sql(COUNT, epsilon=5)

    raised = [entry for entry in curator.as_auditor().entries() if entry.kind == "raised"]
    assert [entry.facts["reason"] for entry in raised] == ["board, 12 May"]
    with pytest.raises(InputError):
        curator.raise_budget("visits", dp.Budget(epsilon=21, delta=1e-6), reason="")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda c: c.grant("alice", "nowhere", BUDGET),
        lambda c: c.group("lab", "nowhere", ["alice"]),
        lambda c: c.link("people", ["visits", "nowhere"]),
        lambda c: c.grant("", "visits", BUDGET),
        lambda c: c.grant("alice", "visits", BUDGET) and c.grant("alice", "visits", BUDGET),
        lambda c: c.raise_budget("visits", dp.Budget(epsilon=1), reason="another measure"),
    ],
)
def test_accounts_of_nobody_are_refused(curator, wrong):
    with pytest.raises(InputError):
        wrong(curator)


def test_the_cost_that_is_told_is_the_cost_that_is_charged(curator):
    curator.grant("alice", "visits", dp.Budget(epsilon=1, delta=1e-7))
    desk = curator.as_analyst("alice")
    told = {str(account.holder): cost for account, cost in desk.cost(BY_CITY, epsilon=0.1).items()}
    before = curator.ledger.head()
    desk.sql(BY_CITY, epsilon=0.1)

    assert curator.ledger.entries()[before.sequence].kind == "charged"
    assert set(told) == {"dataset visits", "analyst alice within visits"}
    assert told["dataset visits"].units == spent(curator)[0]
    assert told["analyst alice within visits"].units == spent(curator, analyst="alice")[0]


def test_an_analyst_has_all_ways_to_ask_in_their_own_name(curator):
    desk = curator.as_analyst("alice")
    desk.table("visits").agg(n=dp.count()).release(epsilon=0.1)
    desk.remeasure(COUNT, epsilon=0.2)
    desk.explain(COUNT, epsilon=0.3)
    desk.dummy().sql(COUNT, epsilon=0.3)

    assert desk.schema == curator.schema
    charged = [entry.by for entry in curator.ledger.entries() if entry.kind == "charged"]
    assert charged == ["alice", "alice"]
    assert desk.budget("visits").spent == spent(curator)


def test_an_auditor_sees_every_charge_and_no_answer(curator):
    release = curator.sql(COUNT, epsilon=0.1)
    auditor = curator.as_auditor()
    file = io.StringIO()
    auditor.export(file)

    assert [entry.kind for entry in auditor.entries()][-3:] == ["charged", "measured", "released"]
    assert auditor.verify().ok
    assert not hasattr(auditor, "sql")
    answer = str(release.table.column("n")[0].as_py())
    assert f'"{answer}"' not in file.getvalue()
    assert f":{answer}," not in file.getvalue()


@pytest.mark.parametrize(
    ("said", "measure"),
    [
        ({"epsilon": 1}, "epsilon"),
        ({"epsilon": 1, "delta": 1e-6}, "mu-squared"),
        ({"epsilon": 1, "delta": 1e-6, "measure": "rho"}, "rho"),
        ({"epsilon": 1, "delta": 1e-6, "measure": "epsilon"}, "epsilon"),
        ({"rho": 0.5}, "rho"),
        ({"rho": 0.5, "delta": 1e-6}, "rho"),
    ],
)
def test_each_way_to_say_a_budget_answers_questions(said, measure):
    with dp.Curator.in_memory() as curator:
        add_visits(curator, budget=dp.Budget(**said))
        curator.sql(BY_CITY, epsilon=0.1)

        assert curator.budget("visits").measure.name == measure
        assert spent(curator) > (0, 0)


@pytest.mark.parametrize(
    "said",
    [
        *({}, {"epsilon": 1, "rho": 1}, {"epsilon": 0}, {"epsilon": -1}, {"rho": 0}),
        *({"delta": 1e-6}, {"epsilon": 1, "delta": -1e-9}, {"epsilon": 1, "delta": 1}),
        *({"epsilon": float("inf")}, {"epsilon": "3"}, {"epsilon": True}),
    ],
)
def test_a_budget_that_means_nothing_is_refused(said):
    with pytest.raises(InputError):
        dp.Budget(**said).cap()


ALIKE = ["Alice", "alice\u200b", "\uff41lice", "\u0430lice", "alic\u0435", "al\u0131ce", "AIice"]
ALIKE += [f"al{unseen}ice" for unseen in "\x01\u034f\u115f\u3164\uffa0\ufe0f\U000e0100"]


@pytest.mark.parametrize("name", ALIKE)
def test_a_name_that_reads_like_that_of_an_analyst_does_not_get_around_the_cap(curator, name):
    curator.group("lab", "visits", ["alice"], dp.Budget(epsilon=0.2, delta=1e-7))
    before = curator.ledger.accounts()
    for wrong in (
        lambda: curator.as_analyst(name).sql(COUNT, epsilon=0.1),
        lambda: curator.grant(name, "visits", BUDGET),
        lambda: curator.group("other", "visits", [name], BUDGET),
    ):
        with pytest.raises(InputError, match="reads like another") as refused:
            wrong()
        assert "analyst alice within" not in str(refused.value)

    assert curator.ledger.accounts() == before
    curator.as_analyst("alice").sql(COUNT, epsilon=0.1)
    curator.as_analyst("alicia").sql(COUNT, epsilon=0.1)


def test_two_members_of_a_group_do_not_read_alike(curator):
    with pytest.raises(InputError, match="reads like"):
        curator.group("lab", "visits", ["bob", "Bob"], BUDGET)
    with pytest.raises(InputError, match="each once"):
        curator.group("lab", "visits", ["bob", "bob"], BUDGET)


def test_tables_that_look_alike_in_another_alphabet_are_refused(curator):
    with pytest.raises(InputError, match="reads like visits"):
        curator.add("vis\u0456ts", clinic(5), **ABOUT, budget=BUDGET)


def test_caps_of_groups_and_links_are_raised_with_a_reason_too(curator):
    small, large = (dp.Budget(epsilon=e, delta=1e-6) for e in (0.2, 2))
    curator.group("lab", "visits", ["alice"], small)
    curator.link("people", ["visits"], small)
    with pytest.raises(BudgetError):
        curator.sql(COUNT, epsilon=1, analyst="alice")

    curator.raise_budget("visits", large, group="lab", reason="board")
    raised = curator.raise_link("people", large, reason="board")

    assert raised.limit == large.cap()
    curator.sql(COUNT, epsilon=1, analyst="alice")
    assert [one.kind for one in curator.ledger.entries()][-5:-3] == ["raised", "raised"]
    with pytest.raises(InputError, match="at once"):
        curator.raise_budget("visits", large, analyst="alice", group="lab", reason="board")


def test_names_in_all_alphabets_live_side_by_side(curator):
    names = ["Νίκος", "Νίκη", "Мария", "Марина", "李小龙", "李小龍"]
    names += ["محمد", "محمود", "דנה", "ありさ"]
    for name in names:
        curator.grant(name, "visits", dp.Budget(epsilon=1, delta=1e-7))
        curator.as_analyst(name).sql(COUNT, epsilon=0.1)
    with pytest.raises(InputError, match="reads like"):
        curator.grant("МАРИЯ ", "visits", BUDGET)


def test_how_many_blanks_part_two_words_does_not_tell_names_apart(curator):
    curator.grant("Ann Lee", "visits", BUDGET)
    for name in ("Ann  Lee", "Ann\u2009Lee", "Ann \u200b Lee", "ann\tlee\n"):
        with pytest.raises(InputError, match="reads like"):
            curator.sql(COUNT, epsilon=0.1, analyst=name)


@pytest.mark.parametrize("first", ["pure", "other"])
def test_who_counts_epsilon_alone_is_told_what_was_measured_with_laplace_noise(first):
    with dp.Curator.in_memory() as curator:
        curator.add("visits", clinic(200), **ABOUT, budget=dp.Budget(epsilon=10, delta=1e-6))
        curator.grant("pure", "visits", dp.Budget(epsilon=1))
        second = {"pure": "other", "other": "pure"}[first]
        text = "SELECT COUNT(*) AS n FROM visits"
        answer = curator.sql(text, epsilon=0.25, delta=0, analyst=first)
        spent = curator.budget("visits").spent
        for analyst in (second, first, second):
            assert curator.sql(text, epsilon=0.25, delta=0, analyst=analyst) == answer
            assert curator.as_analyst(analyst).sql(text, epsilon=0.25, delta=0) == answer
        assert curator.budget("visits").spent == spent  # its people lose nothing
        account = curator.budget("visits", analyst="pure")
        assert (account.measure.name, account.total.amount) == ("epsilon", Fraction(1, 4))
        assert curator.ledger.verify().ok


def test_who_counts_epsilon_alone_pays_for_an_answer_of_their_own_once():
    with dp.Curator.in_memory() as curator:
        curator.add("visits", clinic(200), **ABOUT, budget=dp.Budget(epsilon=10, delta=1e-6))
        curator.grant("pure", "visits", dp.Budget(epsilon=1))
        text = "SELECT city, COUNT(*) AS n, SUM(amount) AS s FROM visits GROUP BY city"
        curator.sql(text, epsilon=0.25, analyst="other")
        own = curator.sql(text, epsilon=0.25, delta=0, analyst="pure")
        spent = curator.budget("visits").spent
        assert curator.sql(text, epsilon=0.25, delta=0, analyst="pure") == own
        assert curator.budget("visits").spent == spent
        assert curator.ledger.verify().ok


def test_budgets_explanations_and_refusals_speak_of_percent(curator):
    """One currency for analysts: how much of the budget a question takes and what still fits."""
    account = curator.budget("visits")
    assert " 0 % of epsilon" in repr(account)
    assert "% of the budget of dataset visits" in repr(curator.explain(COUNT, epsilon=0.1))
    with pytest.raises(dp.BudgetError, match=r"% of the budget: only 100 % of it is left"):
        curator.sql(COUNT, epsilon=50)
    curator.sql(COUNT, epsilon=account.largest_epsilon / 2)
    after = curator.budget("visits")

    assert 0 < after.largest_epsilon < account.largest_epsilon
    assert 0 < after.share(after.total) < 1
