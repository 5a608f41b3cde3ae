"""A ledger in memory, in a file and in Postgres."""

import pytest

import postgres_server
from discreet.curator.ledger.accounts import dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order
from discreet.privacy import Filter, Pure

BUDGET = Filter.basic(epsilon=1)


@pytest.fixture(scope="session")
def server():
    return postgres_server.start()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request, tmp_path):
    """An empty ledger on every kind of store."""
    match request.param:
        case "memory":
            opened = Ledger.in_memory()
        case "sqlite":
            opened = Ledger.open(tmp_path / "ledger.sqlite")
        case _:
            address = postgres_server.empty_database(request.getfixturevalue("server"))
            opened = Ledger.open(address, witness=tmp_path / "head")
    with opened:
        yield opened


@pytest.fixture
def visits(ledger):
    """A ledger with one dataset that has an epsilon of 1."""
    ledger.open_account(dataset("visits"), BUDGET.limit, by="owner")
    return ledger


@pytest.fixture
def ask():
    """Make an order."""

    def order(plan="count()", *, by="alice", epsilon=0.1, request=None, about="visits"):
        price = BUDGET.price(Pure(epsilon))
        return Order(by, about, "v1", plan, (price,), [{"what": "count"}], request)

    return order
