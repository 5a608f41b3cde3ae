"""`dp.Curator(url, token=...)` is the same curator: method by method, error by error."""

import datetime as dt
import inspect
import io
import socket
import threading
import time
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet as dp
from clinic_curator import ABOUT, BUDGET, BY_CITY, COUNT, add_cities, add_visits, spent
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.present.release import Release
from discreet.curator.answer_service import AnswerService
from discreet.curator.client import connection
from discreet.curator.client.remote import Remote
from discreet.curator.owner_interface import OwnerInterface
from discreet.engines.reading import Reading
from discreet.errors import (
    AccessError,
    BudgetError,
    EngineError,
    InputError,
    InvariantBroken,
    LedgerError,
    ServiceError,
)
from flaky_proxy import Proxy
from running_server import QUICK, served
from visits import CITIES, clinic


@pytest.fixture(scope="module")
def app_state():
    """A server over a curator, and the curator itself."""
    with dp.Curator.in_memory() as curator:
        add_cities(add_visits(curator, budget=dp.Budget(epsilon=50, delta=1e-6)))
        curator.grant("alice", "visits", dp.Budget(epsilon=40, delta=1e-7))
        with served(curator) as server:
            yield curator, server


@pytest.fixture
def local(app_state):
    return app_state[0]


@pytest.fixture
def server(app_state):
    return app_state[1]


@pytest.fixture
def alice(server):
    with dp.Curator(server.url, token=server.token("alice", "analyst")) as curator:
        yield curator


@pytest.fixture
def owner(server):
    with dp.Curator(server.url, token=server.token("ann", "owner")) as curator:
        yield curator


WORD = "dpt_no_such"
NUMBERS = iter(range(1, 100))


def fresh():
    """A question that was not asked before."""
    return f"SELECT city, COUNT(*) AS n FROM visits WHERE amount < {next(NUMBERS)} GROUP BY city"  # noqa: S608 - a number


# --- the same -----------------------------------------------------------------------------------


def test_an_address_makes_a_remote_curator_and_a_folder_does_not(alice, local):
    assert type(alice) is Remote
    assert isinstance(alice, dp.Curator)
    assert type(local) is dp.Curator


def test_a_remote_curator_inherits_nothing_that_reads_a_folder():
    own = {name for name in vars(dp.Curator) if not name.startswith("_")}

    assert own - vars(Remote).keys() == {"in_memory", "dummy"}  # which open one in memory
    reads = {"_ledger", "_data_store", "_streams", "_tables", "_answer_service", "_local"}
    touched = {
        name
        for name, one in vars(OwnerInterface).items()
        if callable(one) and reads & set(inspect.unwrap(one).__code__.co_names)
    }
    within = {"_record", "_check_going", "_cap", "_open_dataset", "_open_like"}
    assert touched - vars(Remote).keys() == within  # which the others call
    assert "_people" in vars(Remote)


def test_a_remote_curator_tells_nothing_of_one_person(owner):
    for method in (owner.remove_person, owner.statement_for, owner.person_named):
        with pytest.raises(InputError, match="the account of one person"):
            method("17")
    with pytest.raises(InputError, match="the account of one person"):
        owner.limit_person("17", epsilon=0)


def test_public_facts_are_the_same(alice, local):
    assert alice.schema == local.schema
    assert alice.datasets() == local.datasets()
    assert alice.neighbours is local.neighbours
    assert alice.dummy(50).sql(BY_CITY, epsilon=1).table.num_rows == 3
    assert alice.dummy().budget("visits") == local.dummy().budget("visits")


def test_an_answer_is_the_same_bytes(alice, local):
    text = fresh()
    answer = alice.sql(text, epsilon=Fraction(1, 7))

    assert answer == local.sql(text, epsilon=Fraction(1, 7), analyst="alice")
    assert answer == alice.sql(text.lower().replace("haifa", "Haifa"), epsilon=Fraction(1, 7))
    assert repr(answer).startswith("city")


def test_shares_builders_intervals_and_people_outside_are_the_same(alice, local):
    text = fresh()
    mine, theirs = alice.sql(text, epsilon=0.2), local.sql(text, epsilon=0.2, analyst="alice")
    assert mine.share == pytest.approx(theirs.share, rel=1e-5)
    here, there = (
        one.filter(dp.col("city") == "Haifa").count()
        for one in (local.table("visits", analyst="alice"), alice.table("visits"))
    )
    assert there.explain(epsilon=0.1) == here.explain(epsilon=0.1)
    assert there.release(epsilon=0.1) == here.release(epsilon=0.1)
    median = "SELECT MEDIAN(amount) AS m FROM visits"
    assert "m" in alice.sql(median, epsilon=0.2).half_widths
    assert "m" not in alice.sql(median, epsilon=0.2, intervals=False).half_widths
    outside = local.outside(BY_CITY, epsilon=0.2, analyst="alice")
    assert alice.outside(BY_CITY, epsilon=0.2) == outside
    assert "visits" in alice._repr_html_()


def test_explanations_and_bills_are_the_same(alice, local):
    text = fresh()
    price = {"epsilon": 0.3, "delta": 1e-9}

    assert alice.explain(text, **price) == local.explain(text, analyst="alice", **price)
    assert alice.cost(text, **price) == local.cost(text, analyst="alice", **price)
    assert repr(alice.explain(text, **price)) == repr(local.explain(text, analyst="alice", **price))


@pytest.mark.parametrize("accuracy", [dp.Accuracy(200), dp.Accuracy("50 %", of=1000)])
def test_an_accuracy_buys_the_same(alice, local, accuracy):
    text = fresh()

    assert (
        alice.explain(text, accuracy=accuracy).price == local.explain(text, accuracy=accuracy).price
    )
    assert alice.sql(text, accuracy=accuracy) == local.sql(text, accuracy=accuracy)


def test_an_accuracy_relative_to_an_earlier_answer_buys_the_same(alice, local):
    text = COUNT
    rough = alice.sql(text, epsilon=5)
    accuracy = dp.Accuracy("90 %", of=rough)
    shown = [curator.explain(text, accuracy=accuracy).price for curator in (alice, local)]

    assert shown[0] == shown[1]


def test_the_fluent_interface_works(alice, local):
    def ask(curator):
        rows = curator.table("visits").where(dp.col("amount") > next(NUMBERS) % 1 + 3)
        return rows.group_by("city").agg(n=dp.count(), m=dp.mean("amount")).release(epsilon=0.2)

    assert ask(alice) == ask(local)


def test_a_plan_with_a_join_is_asked_as_it_is(alice, local):
    from discreet.sql.reader.read import read

    text = "SELECT country, COUNT(*) AS n FROM visits JOIN cities ON city = name GROUP BY country"
    answer = alice.ask(read(text, alice.schema), epsilon=0.1)

    assert answer == local.ask(read(text, local.schema), epsilon=0.1, analyst="alice")


def test_weights_are_the_same(alice, local):
    asked = {"epsilon": 0.2, "weights": {"s": Fraction(7, 3)}}
    answer = alice.sql(BY_CITY, **asked)

    assert answer == local.sql(BY_CITY, **asked, analyst="alice")
    assert answer != alice.sql(BY_CITY, epsilon=0.2)
    assert alice.explain(BY_CITY, **asked) == local.explain(BY_CITY, **asked, analyst="alice")
    assert alice.cost(BY_CITY, **asked) == local.cost(BY_CITY, **asked, analyst="alice")


def test_measuring_again_merges_the_same(alice, local, server):
    text = fresh()
    alice.sql(text, epsilon=0.1)
    merged = alice.remeasure(text, epsilon=0.2)

    assert merged == local.remeasure(text, epsilon=0.2, analyst="alice")
    charge = local.async_session("alice").newest()[0].sequence
    again = server.get(
        f"/v1/releases/{charge}?merged=true&format=arrow", token=server.token("alice", "analyst")
    )
    assert Release.from_bytes(again.body) == merged
    assert len(merged.costs) == 2 * len(alice.sql(text, epsilon=0.1).costs)


def test_a_question_in_python_is_priced_and_measured_again_the_same(alice, local):
    def asked(curator):
        return curator.table("visits").group_by("city").agg(people=dp.count())

    far = str(alice.explain(asked(alice), epsilon=0.02))
    near = str(local.explain(asked(local), epsilon=0.02, analyst="alice"))
    first = alice.remeasure(asked(alice), epsilon=0.02)
    merged = alice.remeasure(asked(alice), epsilon=0.03)

    assert far == near
    assert merged == local.remeasure(asked(local), epsilon=0.03, analyst="alice")
    assert len(merged.costs) == 2 * len(first.costs)


def test_budgets_are_the_same(alice, owner, local):
    assert alice.budget("visits") == local.budget("visits")
    assert alice.budget("visits", analyst="alice") == local.budget("visits", analyst="alice")
    assert owner.budget("visits", analyst="alice") == local.budget("visits", analyst="alice")
    for curator in (alice, local):
        with pytest.raises(InputError, match="analyst zoe within visits has no account"):
            curator.budget("visits", analyst="zoe")


def test_a_desk_of_ones_own_is_there(alice, local):
    desk = alice.as_analyst("alice")

    assert desk.budget("visits") == local.budget("visits", analyst="alice")
    assert desk.sql(COUNT, epsilon=0.1) == local.sql(COUNT, epsilon=0.1, analyst="alice")
    assert alice.sql(COUNT, epsilon=0.1, analyst="alice") == desk.sql(COUNT, epsilon=0.1)


def test_owners_grant_group_link_and_raise(owner, local):
    owner.grant("carol", "visits", dp.Budget(epsilon=1, delta=1e-7))
    made = owner.group("lab", "visits", ["carol", "dan"], dp.Budget(rho=0.5))
    linked = owner.link("people", ["visits"])
    raised = owner.raise_budget("visits", dp.Budget(epsilon=60, delta=1e-6), reason="board")
    by_holder = {one.holder: one for one in local.ledger.accounts()}

    assert by_holder[made.holder] == made
    assert by_holder[linked.holder] == linked
    assert local.budget("visits") == raised
    assert local.ledger.entries()[-1].by == "ann"
    assert local.ledger.entries()[-1].facts["reason"] == "board"
    more = owner.raise_budget(
        "visits", dp.Budget(epsilon=2, delta=1e-7), reason="she asks well", analyst="carol"
    )
    assert local.budget("visits", analyst="carol") == more
    wider = dp.Budget(rho=0.7)
    together = owner.raise_budget("visits", wider, reason="she asks well", group="lab")
    assert (together.holder, together.limit) == (made.holder, wider.cap())
    linked = owner.link("some/people", ["visits"], dp.Budget(epsilon=60, delta=1e-6))
    above = owner.raise_link("some/people", dp.Budget(epsilon=70, delta=1e-6), reason="board")
    assert local.ledger.account(linked.holder) == above != linked
    assert local.ledger.entries(after=local.ledger.head().sequence - 1)[0].kind == "raised"
    assert local.ledger.verify().ok


def test_one_name_is_no_list_of_letters(owner, local):
    accounts = local.ledger.accounts()
    for wrong in (
        lambda: owner.group("letters", "visits", "dan", BUDGET),
        lambda: owner.link("letters", "visits", BUDGET),
        lambda: owner.add("letters", clinic(5), **{**ABOUT, "required": "city"}, budget=BUDGET),
    ):
        with pytest.raises(InputError, match="a list of names"):
            wrong()
    assert local.ledger.accounts() == accounts


def test_explaining_recalls_what_the_caller_was_told(owner, local):
    owner.add("free", clinic(300), unit="person", budget=dp.Budget(rho=500, delta=1e-3))
    text = "SELECT COUNT(*) AS n FROM free"
    told = owner.sql(text, epsilon=20).parts[0].beyond

    assert told is not None
    for name, known in (("ann", told), ("nobody", None)):
        [part] = local.explain(text, epsilon=0.5, analyst=name).parts
        assert part.clipped == known
    assert owner.explain(text, epsilon=0.5) == local.explain(text, epsilon=0.5, analyst="ann")


def test_owners_say_dates_as_bounds_and_as_keys(owner, local):
    days = [dt.date(2026, 1, day) for day in (1, 2, 3)]
    rows = pa.table({"person": ["a", "b", "c"], "day": days, "seen": days})
    columns = {"day": dp.Bounds(days[0], days[-1]), "seen": dp.Keys(days)}
    owner.add("dated", rows, unit="person", columns=columns, budget=BUDGET)
    local.add("dated_here", rows, unit="person", columns=columns, budget=BUDGET)
    there, here = (local.schema.tables[name].columns for name in ("dated", "dated_here"))
    assert there == here
    assert there["seen"].keys == tuple(days)


def test_owners_add_frames_and_files_of_all_kinds(owner, local, tmp_path):
    import duckdb

    rows, parquet, csv = clinic(10), tmp_path / "v.parquet", tmp_path / "v.csv"
    pa.parquet.write_table(rows, parquet)
    pa.csv.write_csv(rows, csv)
    with duckdb.connect(str(tmp_path / "v.duckdb")) as base:
        base.register("rows", rows)
        base.execute("CREATE TABLE inner_table AS SELECT * FROM rows")
    kinds = {"person": "integer", "amount": "real"}
    owner.add("from_frame", rows, **ABOUT, budget=BUDGET)
    owner.add("from_pandas", rows.to_pandas(), **ABOUT, budget=BUDGET)
    owner.add("from_parquet", parquet, **ABOUT, dataset="from_frame")
    owner.add("from_csv", str(csv), **ABOUT, kinds=kinds, budget=dp.Budget(epsilon=1))
    owner.add(
        "from_base", tmp_path / "v.duckdb", **ABOUT, budget=BUDGET, source_table="inner_table"
    )
    owner.add_public("towns", pa.table({"name": CITIES}), key="name")

    assert local.datasets()["from_frame"] == ["from_frame", "from_parquet"]
    assert set(local.datasets()) >= {"from_pandas", "from_csv", "from_base"}
    for name in ("from_frame", "from_pandas", "from_parquet", "from_csv", "from_base"):
        exact = local._data_store.tables.schema.tables[name]
        assert exact.limits == ABOUT["limits"]
        assert exact.columns["city"].keys == tuple(CITIES)
        counted = owner.sql(COUNT.replace("visits", name), epsilon=0.9)
        assert counted.table.num_rows == 1
    assert owner.schema.tables["towns"].key == ("name",)


def test_owners_and_auditors_fetch_the_same_dossier(owner, alice, local):
    assert owner.dossier().sections == local.dossier().sections
    with pytest.raises(dp.AccessError):
        alice.dossier()
    with pytest.raises(dp.InputError, match="an audit to attach"):
        owner.dossier(audit={"claims": []})


def test_auditors_read_and_check_the_ledger(server, local):
    with dp.Curator(server.url, token=server.token("aud", "auditor")) as curator:
        here, there = local.as_auditor(), curator.as_auditor()
        assert "the ledger does not say" in there.verify().problem.what  # of tokens made for tests
        server.record_tokens(local.ledger)
        mine, theirs = io.StringIO(), io.StringIO()

        assert there.entries() == here.entries()
        assert there.entries(after=3, limit=2) == here.entries(after=3, limit=2)
        assert there.accounts() == here.accounts()
        assert there.verify() == here.verify()
        assert there.export(theirs) == here.export(mine)
        assert theirs.getvalue() == mine.getvalue()


# --- errors -------------------------------------------------------------------------------------

WRONG = {
    "an empty question": lambda c: c.sql("", epsilon=0.1),
    "a number as a request name": lambda c: c.sql(COUNT, epsilon=0.1, request=5),
    "an empty request name": lambda c: c.sql(COUNT, epsilon=0.1, request=""),
    "rows": lambda c: c.sql("SELECT * FROM visits", epsilon=0.1),
    "syntax": lambda c: c.sql("SELEC", epsilon=0.1),
    "an unknown table": lambda c: c.sql("SELECT COUNT(*) AS n FROM nowhere", epsilon=0.1),
    "no price": lambda c: c.sql(COUNT),
    "two prices": lambda c: c.sql(COUNT, epsilon=1, accuracy=dp.Accuracy(5)),
    "a negative price": lambda c: c.sql(COUNT, epsilon=-1),
    "a price that is no number": lambda c: c.sql(COUNT, epsilon="much"),
    "a question that is no text": lambda c: c.sql(7, epsilon=1),
    "too dear": lambda c: c.sql(BY_CITY, epsilon=500),
    "too dear to explain": lambda c: c.explain("SELECT street FROM visits", epsilon=500),
    "an accuracy that cannot be": lambda c: c.sql(
        "SELECT AVG(amount) AS a FROM visits", accuracy=dp.Accuracy(1)
    ),
    "a weight for no column": lambda c: c.sql(BY_CITY, epsilon=0.1, weights={"x": 4}),
    "a weight of nothing": lambda c: c.explain(BY_CITY, epsilon=0.1, weights={"n": 0}),
    "a weight that is no number": lambda c: c.remeasure(BY_CITY, epsilon=0.1, weights={"n": "4"}),
    "an unknown dataset": lambda c: c.budget("nowhere"),
    "an unknown table in Python": lambda c: c.table("nowhere"),
    "a public table in Python": lambda c: c.table("cities"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_the_same_with_the_same_fields(alice, local, name):
    told = []
    for curator in (alice, local):
        with pytest.raises(dp.DiscreetError) as raised:
            WRONG[name](curator)
        told.append(raised.value)

    assert type(told[0]) is type(told[1])
    fields = [{k: v for k, v in vars(one).items() if k != "left"} for one in told]
    assert fields[0] == fields[1]


OWNERS = {
    "both a budget and a dataset": lambda c: c.add(
        "t", clinic(3), **ABOUT, budget=BUDGET, dataset="visits"
    ),
    "a name that is taken": lambda c: c.add("visits", clinic(3), **ABOUT, budget=BUDGET),
    "a column that is not there": lambda c: c.add(
        "t", clinic(3), unit="person", columns={"nix": dp.Bounds(0, 1)}, budget=BUDGET
    ),
    "a key that repeats": lambda c: c.add_public("t", clinic(3), key="person"),
    "a grant for nothing": lambda c: c.grant("zoe", "nowhere", BUDGET),
    "a raise in another measure": lambda c: c.raise_budget(
        "visits", dp.Budget(epsilon=90), reason="x"
    ),
    "a raise without a reason": lambda c: c.raise_budget(
        "visits", dp.Budget(epsilon=90, delta=1e-6), reason=""
    ),
    "a link of nothing": lambda c: c.link("new", ["visits", "nowhere"]),
}


@pytest.mark.parametrize("name", OWNERS)
def test_errors_of_owners_are_of_the_same_class(owner, local, name):
    told = []
    for curator in (owner, local):
        with pytest.raises(InputError) as raised:
            OWNERS[name](curator)
        told.append(type(raised.value))

    assert told[0] is told[1]


@pytest.mark.parametrize("kind", [EngineError, LedgerError, InvariantBroken])
def test_failures_behind_a_charge_come_through(alice, local, monkeypatch, kind):
    text = fresh()

    def fail(*_):
        raise kind("it failed", why="it was told to", fix="ask again")

    with monkeypatch.context() as patch:
        patch.setattr(AnswerService, "_check_version", fail)
        with pytest.raises(kind, match="it was told to"):
            alice.sql(text, epsilon=0.1)
    before = spent(local)
    assert alice.sql(text, epsilon=0.1).table.num_rows == 3
    assert spent(local) == before


def test_budgets_of_analysts_refuse_with_what_is_left(owner, server):
    owner.grant("eve", "visits", dp.Budget(epsilon=0.5, delta=1e-7))
    with dp.Curator(server.url, token=server.token("eve", "analyst")) as eve:
        with pytest.raises(BudgetError) as refused:
            eve.sql(fresh(), epsilon=3)
        left = eve.budget("visits", analyst="eve").left

    assert refused.value.left == float(left.amount)
    assert refused.value.asked > refused.value.left


def test_roles_and_tokens_are_refused(alice, server):
    for refused in (
        lambda: alice.grant("x", "visits", BUDGET),
        lambda: alice.as_auditor().verify(),
        lambda: alice.add("t", clinic(3), **ABOUT, budget=BUDGET),
        lambda: dp.Curator(server.url, token=WORD).datasets(),
    ):
        with pytest.raises(AccessError):
            refused()


def test_what_makes_no_sense_from_afar_says_so(alice):
    for odd in (
        lambda: alice.ledger,
        alice.recover,
        lambda: alice.set_schedule(1.0),
        lambda: alice.async_session("alice"),
        lambda: alice.as_analyst("bob"),
        lambda: alice.as_owner("bob"),
        lambda: alice.as_analyst("alice", datasets=["visits"]),
        lambda: alice.sql(COUNT, epsilon=0.1, analyst="bob"),
        lambda: alice.table("visits", analyst="bob").agg(n=dp.count()).release(epsilon=1),
        lambda: dp.Curator("http://localhost:1", token=WORD, folder="y"),
        lambda: dp.Curator.in_memory().__class__("somewhere-else", token=WORD),
    ):
        with pytest.raises(InputError):
            odd()


def test_a_scope_hides_the_rest(owner, server):
    if "hidden" not in owner.datasets():
        owner.add("hidden", clinic(5), **ABOUT, budget=BUDGET)
    token = server.token("zed", "analyst", datasets=["visits"])
    with dp.Curator(server.url, token=token) as zed:
        told = []
        for name in ("hidden", "absent"):
            for ask in (
                lambda name=name: zed.sql(COUNT.replace("visits", name), epsilon=1),
                lambda name=name: zed.budget(name),
                lambda name=name: zed.table(name),
            ):
                with pytest.raises(dp.DiscreetError) as refused:
                    ask()
                told.append(str(refused.value).replace(name, "X"))
        assert told[:3] == told[3:]
        assert sorted(zed.datasets()) == ["visits"]


# --- the way there ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org",
        "http://127.0.0.1.example.org",
        "http://user:hunter2@localhost",
        "https://host?token=hunter2",
        "http://",
        "http://localhost:99999",
        "http://[::1",
    ],
)
def test_addresses_that_would_give_a_token_away_are_refused(address):
    with pytest.raises((InputError, ValueError)) as refused:
        dp.Curator(address, token=WORD)

    assert "hunter2" not in str(refused.value)


def test_a_plain_address_can_be_allowed():
    dp.Curator("http://example.org", token=WORD, allow_plain=True).close()
    dp.Curator("https://example.org", token=WORD).close()


@pytest.mark.parametrize("token", [None, "", " ", "a\r\nX: y", "ü", 7])
def test_a_token_is_needed_and_cannot_carry_headers(token):
    with pytest.raises(InputError):
        dp.Curator("http://localhost", token=token)


def test_the_token_is_in_no_message_and_no_repr(server):
    token = server.token("alice", "analyst")
    curator = dp.Curator(server.url, token=token)
    shown = [repr(curator), repr(vars(curator)), repr(curator._link)]
    with pytest.raises(dp.DiscreetError) as refused:
        curator.sql("SELECT", epsilon=1)

    assert token not in " ".join([*shown, str(refused.value)])
    assert token not in "".join(server.logs)


@pytest.fixture
def proxy(server):
    made = Proxy(server.port)
    yield made
    made.close()


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("request_name", [None, "mine"])
def test_a_question_survives_a_lost_connection_and_is_charged_once(
    proxy, server, local, before, request_name
):
    text = fresh()
    with dp.Curator(proxy.url, token=server.token("alice", "analyst")) as far:
        far.datasets()
        proxy.cuts, proxy.before = 2, before
        name = request_name and f"{request_name}-{before}"
        known = len(local.ledger.asked(["visits"], limit=1000))
        answer = far.sql(text, epsilon=0.1, request=name)

        assert proxy.cuts == 0
        assert len(local.ledger.asked(["visits"], limit=1000)) == known + 1
        assert answer == local.sql(text, epsilon=0.1, analyst="alice")
        assert far.sql(text, epsilon=0.1, request=name) == answer


def test_what_may_not_be_sent_twice_is_told(proxy, server, local):
    with dp.Curator(proxy.url, token=server.token("ann", "owner")) as far:
        far.datasets()
        proxy.cuts = 1
        with pytest.raises(ServiceError, match="look first whether it was done"):
            far.raise_budget("visits", dp.Budget(epsilon=61, delta=1e-6), reason="once")
    reasons = [e.facts["reason"] for e in local.ledger.entries() if e.kind == "raised"]
    assert reasons.count("once") == 1


@pytest.mark.parametrize(
    ("ending", "lost", "before"),
    [
        ("csv", "the file", False),
        ("csv", "what is said about it", True),
        ("parquet", "what is said about it", False),
    ],
)
def test_a_table_is_added_once_over_lost_connections(
    proxy, server, local, tmp_path, before, lost, ending, monkeypatch
):
    name = f"{ending} {lost} {before}"
    path = tmp_path / f"rows.{ending}"
    write = pa.csv.write_csv if ending == "csv" else pa.parquet.write_table
    write(clinic(20), path)
    said = {**ABOUT, "kinds": {"person": "integer", "amount": "real"}, "budget": BUDGET}
    with dp.Curator(proxy.url, token=server.token("ann", "owner")) as far:
        sent = far._link.upload

        def upload(*call):
            reply = sent(*call)
            if lost != "the file":
                proxy.cuts, proxy.before = 2, before
            return reply

        monkeypatch.setattr(far._link, "upload", upload)
        proxy.cuts, proxy.before = (2 if lost == "the file" else 0), before
        far.add(name, path, **said)

        assert proxy.cuts == 0
        added = [e for e in local.ledger.entries(limit=9999) if e.facts.get("table") == name]
        assert len(added) == 1
        assert local.datasets()[name] == [name]
        monkeypatch.undo()
        with pytest.raises(InputError, match="already"):
            far.add(name, path, **said)


@pytest.mark.parametrize("before", [True, False])
def test_a_dataset_is_retired_once_over_lost_connections(proxy, server, local, before):
    name = f"ended {before}"
    local.add(name, clinic(20), **ABOUT, budget=BUDGET)
    with dp.Curator(proxy.url, token=server.token("ann", "owner")) as far:
        far.datasets()
        proxy.cuts, proxy.before = 2, before
        far.retire(name, reason="over")

        assert proxy.cuts == 0
        with pytest.raises(InputError, match="for another reason"):
            far.retire(name, reason="another")
    said = [one.facts["reason"] for one in local.ledger.noted("retired") if name in str(one.facts)]
    assert said == ["over"]


def test_an_upload_that_was_used_makes_no_other_table_of_the_same_name(server, tmp_path):
    path, token = tmp_path / "rows.parquet", server.token("ann", "owner")
    pa.parquet.write_table(clinic(20), path)
    with dp.Curator(server.url, token=token) as far:
        upload = far._uploaded("rows", path, None, Reading())
        said = {"name": "used", "unit": "person", "budget": {"epsilon": "1"}, "upload": upload}
        first, again = (server.post("/v1/datasets", token=token, json=said) for _ in range(2))
        other = server.post("/v1/datasets", token=token, json={**said, "budget": {"epsilon": "2"}})

    assert (first.status, again.status, other.status) == (201, 201, 422)
    assert first.body == again.body


def test_a_connection_that_stays_lost_is_told(proxy, server, monkeypatch):
    monkeypatch.setattr(connection, "_PAUSE", 0.01)
    with dp.Curator(proxy.url, token=server.token("alice", "analyst")) as far:
        proxy.cuts = 100
        with pytest.raises(ServiceError):
            far.sql(fresh(), epsilon=0.1)
    assert 100 - proxy.cuts == connection.TRIES


def test_an_idle_connection_that_the_server_closed_is_opened_again(alice):
    alice.datasets()
    for kept in alice._link._client._transport._pool.connections:
        kept._connection._network_stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    assert alice.datasets()
    assert alice.grant is not None


def test_a_request_name_is_the_analysts_own(alice, server):
    """Two analysts may use the same word for different attempts."""
    first, second = fresh(), fresh()
    with dp.Curator(server.url, token=server.token("bob", "analyst")) as bob:
        alice.sql(first, epsilon=0.1, request="today")
        bob.sql(second, epsilon=0.1, request="today")
        for odd in ("über", "%41", "a b", "x" * 100):
            bob.sql(second, epsilon=0.1, request=odd)
    with pytest.raises(InputError, match="used again for another question"):
        alice.sql(second, epsilon=0.1, request="today")


def test_threads_have_connections_of_their_own(alice):
    text = fresh()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(alice.sql(text, epsilon=0.1)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({one.to_bytes() for one in found}) == 1
    assert len(found) == 8


def test_a_reply_of_something_else_is_a_failure_of_the_service():
    listening = socket.create_server(("127.0.0.1", 0))
    body = b"<html>hello</html>"
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def answer():
        for _ in range(2):
            client, _ = listening.accept()
            client.recv(65536)
            client.sendall(reply)
            client.close()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    with dp.Curator(f"http://127.0.0.1:{listening.getsockname()[1]}", token=WORD) as odd:
        with pytest.raises(ServiceError):
            odd.datasets()
        with pytest.raises(ServiceError):
            odd.sql(COUNT, epsilon=1)
    thread.join()
    listening.close()


# --- later --------------------------------------------------------------------------------------


def test_an_answer_can_be_asked_for_later(server, local):
    token, body = server.token("alice", "analyst"), {"sql": fresh(), "epsilon": "0.1"}
    sent = server.post("/v1/queries", token=token, json=body, headers={"Prefer": "respond-async"})
    assert (sent.status, sent.json()["state"]) == (202, "pending")
    place, end = sent.headers["location"], time.monotonic() + 30
    while (found := server.get(place, token=token)).status == 202 and time.monotonic() < end:
        assert found.json() == sent.json()

    assert found.status == 200
    assert found.json()["id"] == sent.json()["id"]
    packed = server.get(place, token=token, headers={"Accept": dp_arrow()})
    assert Release.from_bytes(packed.body) == local.sql(body["sql"], epsilon=0.1)
    assert packed.headers["content-type"] == dp_arrow()
    stranger = server.token("stranger", "analyst")
    assert server.get(place, token=stranger).status == 404
    assert server.get("/v1/queries/999999", token=stranger).status == 404
    assert server.get(place, token=server.token("ann", "owner")).status == 200


def dp_arrow():
    return "application/vnd.apache.arrow.stream"


def test_a_client_waits_for_an_answer_that_takes_longer_than_the_servers_patience(monkeypatch):
    from dataclasses import replace

    measure = MeasurementPlan.measure

    def slowly(*question):
        time.sleep(0.6)
        return measure(*question)

    monkeypatch.setattr(MeasurementPlan, "measure", slowly)
    with add_visits(dp.Curator.in_memory()) as curator:
        curator.sql(COUNT, epsilon=0.05)
        with served(curator, settings=replace(QUICK, patience=0.1)) as server:
            with dp.Curator(server.url, token=server.token("owner")) as far:
                answer = far.sql(BY_CITY, epsilon=0.1)
                merged = far.remeasure(COUNT, epsilon=0.2)
            assert sum(" 202" in line or '"status": 202' in line for line in server.logs) >= 2
        assert answer == curator.sql(BY_CITY, epsilon=0.1)
        assert merged == curator.remeasure(COUNT, epsilon=0.2)
        assert curator.ledger.verify().pending == 0


def test_json_and_arrow_hold_the_same_numbers(server):
    token, body = server.token("alice", "analyst"), {"sql": fresh(), "epsilon": "0.1"}
    told = server.post("/v1/queries", token=token, json=body).json()
    packed = server.post("/v1/queries", token=token, json=body, headers={"Accept": dp_arrow()})
    release = Release.from_bytes(packed.body)

    assert [c["name"] for c in told["columns"]] == release.table.column_names
    assert told["rows"] == [list(row.values()) for row in release.table.to_pylist()]
    assert told["half_widths"]["n"] == release.half_widths["n"].to_pylist()
    assert told["charged"] is True
    assert packed.headers["discreet-charge"] == str(told["id"])
    assert server.post("/v1/queries", token=token, json=body).json()["charged"] is False
