"""A share of a budget, split over questions: never exceeded, and split anew as it goes."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator import workbook
from discreet.curator.ledger import account_changes, accounts
from discreet.errors import BudgetError, InputError, QueryRefused
from discreet.privacy.budgets.charges import EPSILON, UNITS
from running_server import served

ROWS = pa.table({"id": range(500), "age": [i % 90 for i in range(500)], "note": ["x", "y"] * 250})
BUDGETS = {
    "epsilon": dp.Budget(epsilon=2),
    "gaussian": dp.Budget(epsilon=2, delta=1e-6),
    "rho": dp.Budget(rho=0.5, delta=1e-6),
}


def question(number):
    return f"SELECT COUNT(*) AS n FROM visits WHERE age > {number}"  # noqa: S608 - a test


def opened(budget):
    curator = dp.Curator.in_memory()
    curator.add("visits", ROWS, unit="id", budget=budget, columns={"age": dp.Bounds(0, 90)})
    return curator


@pytest.fixture(params=BUDGETS)
def curator(request):
    with opened(BUDGETS[request.param]) as curator:
        yield curator


def gone(curator, before):
    """What was spent since, as a share of what was left then."""
    now, left = curator.budget(), before.left
    amount, delta = (a - b for a, b in zip(now.spent, before.spent, strict=True))
    parts = ((amount, left.units), (delta, left.delta_units))
    return max(Fraction(part, most) for part, most in parts if most)


def test_all_questions_together_take_the_share_and_no_more(curator):
    curator.sql(question(0), epsilon=0.3)
    before = curator.budget()
    with curator.workbook("visits", share=0.2, questions=6) as book:
        prices = [book.sql(question(i)).price.epsilon for i in range(1, 7)]
        with pytest.raises(BudgetError, match="6 questions are asked"):
            book.sql(question(7))
    assert Fraction(17, 100) < gone(curator, before) <= Fraction(1, 5)
    assert max(prices) < 2 * min(prices)
    assert "6 of 6 questions asked" in repr(book)
    assert "6 of 6 questions asked" in book._repr_html_()


def test_the_same_again_is_free_and_not_counted(curator):
    with curator.workbook("visits", share=0.5, questions=2) as book:
        first = book.sql(question(1))
        left = book.left
        assert book.sql(question(1)).to_bytes() == first.to_bytes()
        assert (book.left, book.asked) == (left, 1)
        book.sql(question(2))
        assert book.sql(question(1)).to_bytes() == first.to_bytes()


def test_the_same_again_takes_no_more_than_the_share_where_rows_were_appended(curator):
    before = curator.budget()
    book = curator.workbook("visits", share=0.2, questions=1)
    first = book.sql(question(1))
    curator.append("visits", pa.table({"id": [900], "age": [1], "note": ["x"]}))
    assert book.sql(question(1)).to_bytes() == first.to_bytes()
    assert (book.asked, gone(curator, before) <= Fraction(1, 5)) == (1, True)


def test_a_dearer_question_leaves_less_for_the_others():
    with opened(BUDGETS["gaussian"]) as curator:
        before = curator.budget()
        book = curator.workbook("visits", share=0.5, questions=4)
        usual = book.explain(question(1)).price.epsilon
        book.sql(question(1), epsilon=float(usual) * 1.5)
        assert book.explain(question(2)).price.epsilon < usual
        with pytest.raises(BudgetError, match="more than is left"):
            book.sql(question(3), epsilon=1.9)
        for number in (4, 5, 6):
            book.sql(question(number))
        assert gone(curator, before) <= Fraction(1, 2)


def test_what_is_refused_costs_nothing_and_is_not_counted(curator):
    book = curator.workbook("visits", share=0.5, questions=2)
    with pytest.raises(QueryRefused):
        book.sql("SELECT age FROM visits")
    assert (book.asked, book.left) == (0, 1)


def test_threads_together_keep_the_share():
    with opened(BUDGETS["gaussian"]) as curator:
        before = curator.budget()
        book = curator.workbook("visits", share=0.1, questions=12)

        def ask(number):
            try:
                return book.sql(question(number % 20))
            except BudgetError:
                return None

        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(ask, range(24)))
        assert sum(one is not None for one in told) >= 12
        assert book.asked == 12
        assert gone(curator, before) <= Fraction(1, 10)


def test_keys_that_are_found_take_their_delta_from_the_share():
    with opened(BUDGETS["gaussian"]) as curator:
        before = curator.budget()
        with curator.workbook("visits", share=0.01, questions=3) as book:
            for number in range(2):
                book.sql(f"{question(number)} GROUP BY note")
        assert gone(curator, before) <= Fraction(1, 100)


def test_an_analyst_splits_what_is_left_of_their_own_cap():
    with opened(BUDGETS["gaussian"]) as curator:
        curator.grant("ann", "visits", dp.Budget(epsilon=0.5, delta=1e-7))
        ann = curator.as_analyst("ann")
        before = ann.budget()
        with ann.workbook("visits", share=0.5, questions=2) as book:
            book.sql(question(1))
            book.sql(question(2))
        spent = ann.budget().spent[0] - before.spent[0]
        assert before.left.units * 2 // 5 < spent <= before.left.units // 2


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"share": 2, "questions": 3}, "a share of 2"),
        ({"share": 0, "questions": 3}, "share"),
        ({"share": 0.1, "questions": 0}, "questions"),
    ],
)
def test_what_is_no_share_is_refused(said, wrong):
    with opened(BUDGETS["epsilon"]) as curator, pytest.raises(InputError, match=wrong):
        curator.workbook("visits", **said)


def test_other_datasets_and_budgets_of_people_are_refused():
    with opened(dp.Budget.per_person(epsilon=1, delta=1e-6)) as curator:
        with pytest.raises(InputError, match="no dataset nothing"):
            curator.workbook("nothing", share=0.1, questions=1)
        with pytest.raises(InputError, match="budget of their own"):
            curator.workbook("visits", share=0.1, questions=1)


def test_a_remote_curator_has_workbooks_too():
    with (
        opened(BUDGETS["gaussian"]) as curator,
        served(curator) as server,
        dp.Curator(server.url, token=server.token(), allow_plain=True) as far,
        far.workbook("visits", share=0.1, questions=2) as book,
    ):
        book.sql(question(1))
        assert book.asked == 1
        assert far.budget().spent == curator.budget().spent


def test_the_only_dataset_needs_no_name():
    with opened(BUDGETS["epsilon"]) as curator:
        assert curator.budget() == curator.budget("visits")
        curator.add("more", ROWS, unit="id", budget=dp.Budget(epsilon=1))
        with pytest.raises(InputError, match="there are several: visits, more"):
            curator.budget()
    with dp.Curator.in_memory() as empty, pytest.raises(InputError, match="add one first"):
        empty.budget()


@pytest.mark.parametrize("budget", [BUDGETS["epsilon"], BUDGETS["gaussian"]])
def test_a_named_workbook_is_kept_by_the_ledger_and_opened_again(tmp_path, budget):
    with dp.Curator(tmp_path / "clinic") as curator:
        curator.add("visits", ROWS, unit="id", budget=budget, columns={"age": dp.Bounds(0, 90)})
        before = curator.budget()
        with curator.workbook("visits", share=0.2, questions=4, name="thesis") as book:
            first = book.sql(question(1))
            left = book.left
    with dp.Curator(tmp_path / "clinic") as curator:
        with pytest.raises(InputError, match=r"a share of 0\.9: it was opened with 0\.2"):
            curator.workbook("visits", share=0.9, questions=4, name="thesis")
        again = curator.workbook("visits", share=0.2, questions=4, name="thesis")
        assert (again.asked, again.left) == (1, left)
        assert again.sql(question(1)).to_bytes() == first.to_bytes()
        assert (again.asked, again.left) == (1, left)
        for number in (2, 3, 4):
            again.sql(question(number))
        with pytest.raises(BudgetError):
            again.sql(question(5))
        assert again.sql(question(1)).to_bytes() == first.to_bytes()
        assert again.sql(question(1), epsilon=first.price.epsilon).to_bytes() == first.to_bytes()
        with pytest.raises(BudgetError, match="workbook owner/thesis"):  # the ledger refuses it too
            curator.sql(question(6), epsilon=0.2, workbook="thesis")
        assert Fraction(17, 100) < gone(curator, before) <= Fraction(1, 5)


@pytest.mark.parametrize("way", ["view", "http"])
def test_the_ledger_keeps_workbooks_of_analysts_and_of_clients(way):
    about = {"share": 0.5, "questions": 3, "name": "thesis"}
    with contextlib.ExitStack() as stack:
        curator = stack.enter_context(opened(BUDGETS["epsilon"]))
        curator.grant("ann", "visits", dp.Budget(epsilon=0.8))
        if way == "view":
            ann = curator.as_analyst("ann")
        else:
            server = stack.enter_context(served(curator))
            key = server.token("ann", "analyst")
            ann = stack.enter_context(dp.Curator(server.url, token=key, allow_plain=True))
        curator.sql(question(9), epsilon=0.1)
        first = ann.workbook("visits", **about).sql(question(1))
        curator.append("visits", pa.table({"id": [900], "age": [1], "note": ["x"]}))
        again = ann.workbook("visits", **about)
        assert (again.asked, again.left) == (1, Fraction(67, 100))
        assert again.sql(question(1)).to_bytes() == first.to_bytes()
        again.sql(question(9), epsilon=0.1)  # which others have paid for, on older rows
        with pytest.raises(BudgetError, match="workbook ann/thesis"):
            ann.sql(question(3), epsilon=0.3, workbook="thesis")
        spent = curator.budget("visits", analyst="ann").spent[0]
        book = curator.ledger.account(accounts.workbook("ann", "thesis", EPSILON, within="visits"))
        assert book.spent[0] == spent == again._spent[book.holder][0]
        assert book.cap[0] == UNITS * 4 // 10
        mine = curator.workbook("visits", **about)  # the owner's own, of the same name
        assert (mine.asked, mine.left) == (0, 1)
        with pytest.raises(InputError, match="bob has no workbook thesis of visits"):
            curator.as_analyst("bob").sql(question(1), epsilon=0.1, workbook="thesis")
        assert curator.ledger.verify().ok


def test_an_answer_that_others_paid_for_is_charged_to_the_workbook_too():
    with opened(BUDGETS["epsilon"]) as curator:
        curator.sql(f"{question(1)} -- for the board", epsilon=0.1, analyst="bob")
        ann, about = curator.as_analyst("ann"), {"share": 0.5, "questions": 3, "name": "thesis"}
        ann.sql(question(2), epsilon=0.1)
        book = ann.workbook("visits", **about)
        book.sql(question(1), epsilon=0.1)
        book.sql(question(2), epsilon=0.1)  # ann has paid for it before
        again = ann.workbook("visits", **about)
        assert (again.asked, again.left) == (1, Fraction(8, 9))
        assert [one.text for one in again._find()] == [question(1)]  # without bob's comment
        assert again.sql(question(1)).price.epsilon == Fraction(1, 10)


@pytest.mark.parametrize("over", [dp.Budget(epsilon=1), dp.Budget(epsilon=1, delta=1e-6)])
def test_a_named_workbook_keeps_its_share_of_links(over):
    with dp.Curator.in_memory() as curator:
        for name in ("visits", "more"):
            curator.add(name, ROWS, unit="id", budget=dp.Budget(epsilon=3))
        curator.link("all", ["visits", "more"], budget=over)
        for number in range(3):  # opened again and again
            book = curator.workbook("visits", share=0.5, questions=2, name="thesis")
            if number < 2:
                book.sql(question(number))
        [link] = [one for one in curator.ledger.accounts() if one.holder.kind == "link"]
        assert Fraction(1, 3) < Fraction(link.spent[0], link.cap[0]) <= Fraction(1, 2)
        assert book.left < Fraction(1, 3)


def test_two_handles_of_one_workbook_share_its_questions():
    with opened(BUDGETS["epsilon"]) as curator:
        books = [
            curator.workbook("visits", share=0.5, questions=2, name="thesis") for _ in range(2)
        ]
        told = [books[i].sql(question(i), epsilon=0.01) for i in range(2)]
        for i in range(2):
            with pytest.raises(BudgetError, match="2 questions are asked"):
                books[i].sql(question(2), epsilon=0.01)
            assert books[i].sql(question(1 - i)).to_bytes() == told[1 - i].to_bytes()


def test_a_workbook_of_an_earlier_version_is_refused():
    with opened(BUDGETS["epsilon"]) as curator:
        facts = {"dataset": "visits", "workbook": "workbook thesis", "share": "1/5", "shares": {}}
        curator.ledger.record("workbook opened", by="owner", facts=facts)
        with pytest.raises(InputError, match="workbook thesis was opened by an earlier version"):
            curator.workbook("visits", share=0.1, questions=4, name="thesis")


def test_an_analyst_opens_a_hundred_workbooks(monkeypatch):
    monkeypatch.setattr(workbook, "MOST", 2)
    with opened(BUDGETS["epsilon"]) as curator:
        about = {"share": 0.1, "questions": 1}
        for name in "ab":
            curator.workbook("visits", **about, name=name)
        curator.workbook("visits", **about, name="a")
        with pytest.raises(InputError, match="owner has 2 workbooks of visits"):
            curator.workbook("visits", **about, name="c")
        curator.as_analyst("ann").workbook("visits", **about, name="c")


@pytest.mark.parametrize("name", ["", 5, "a/b"])
def test_what_is_no_name_is_refused(name):
    with opened(BUDGETS["epsilon"]) as curator, pytest.raises(InputError, match="name"):
        curator.workbook("visits", share=0.1, questions=4, name=name)


def test_threads_open_one_named_workbook():
    with opened(BUDGETS["epsilon"]) as curator, ThreadPoolExecutor(4) as pool:
        about = {"share": 0.5, "questions": 2, "name": "thesis"}
        books = list(pool.map(lambda _: curator.workbook("visits", **about), range(8)))
        assert {(one.left, one.asked) for one in books} == {(1, 0)}


def test_accounts_and_the_note_of_a_workbook_are_stored_together_or_not_at_all(monkeypatch):
    with opened(BUDGETS["gaussian"]) as curator:
        curator.grant("ann", "visits", BUDGETS["epsilon"])
        ann, about = curator.as_analyst("ann"), {"share": 0.5, "questions": 2}
        before, put, tries = curator.ledger.head(), account_changes._put, []

        def failing(*said, **more):
            tries.append(1)
            return put(*said, **more) if len(tries) < 2 else 1 / 0

        with monkeypatch.context() as context:
            context.setattr(account_changes, "_put", failing)
            with pytest.raises(ZeroDivisionError):
                ann.workbook("visits", **about, name="thesis")
        assert curator.ledger.head() == before
        assert ann.workbook("visits", **about, name="thesis").asked == 0
        kinds = [one.holder.kind for one in curator.ledger.accounts()]
        assert kinds.count("workbook") == 2
        assert curator.ledger.verify().ok


def test_a_workbook_that_reads_like_another_leaves_no_note():
    with opened(BUDGETS["epsilon"]) as curator:
        about = {"share": 0.5, "questions": 2}
        curator.workbook("visits", **about, name="thesis")
        before = curator.ledger.head()
        with pytest.raises(InputError, match="reads like another"):
            curator.workbook("visits", **about, name="Thesis")
        assert curator.ledger.head() == before


def test_no_name_leads_to_the_workbook_of_somebody_else():
    with opened(BUDGETS["epsilon"]) as curator:
        curator.as_analyst("lab/ann").workbook("visits", share=0.5, questions=2, name="study")
        lab = curator.as_analyst("lab")
        for ask in (lab.sql, lab.cost):
            with pytest.raises(InputError, match="name with a /"):
                ask(question(1), epsilon=0.1, workbook="ann/study")
        with pytest.raises(InputError, match="name with a /"):
            curator.ledger.touched("visits", "lab", "ann/study")
