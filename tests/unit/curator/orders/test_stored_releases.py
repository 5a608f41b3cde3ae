"""Stored bytes of a release that are not what it wrote: refused in one way, whatever they hold."""

import json

import pytest

from discreet.curator.orders.order_kinds import KINDS
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.workload.domain import Attribute, Domain
from discreet.workload.online import OnlinePlan

ODD = [
    None,
    5,
    "text",
    [],
    [1, 2, 3, 4, 5, 6],
    [1, "{}", 5, [1], {}, []],
    {"price": 5},
    {"workload": 1, "price": ["1", "x"], "queries": 5, "guarantee": 5, "notes": 5},
    {"synthesis": 1, "price": [0.5, None], "unit": 5, "notes": [5]},
    {"profile": 1, "price": ["1", "0"], "neighbours": "add-remove", "key_delta": 5, "people": 5},
    {"online": 1, "plan": {"domain": 5}, "runs_begun": 0},
    [1, {"epsilon": "1e400000000", "delta": 5, "table": "t"}, {"kind": "pure/1"}],
    {"profile": 1, "price": ["1e400000000", "0"], "neighbours": "add-remove", "key_delta": "0"},
    {"profile": 1, "price": ["1", "0"], "neighbours": "add-remove", "key_delta": "1e400000000"},
    [1, "{}", [5], ["1e400000000", "0"], {"kind": "pure/1"}, []],
    [1, "{}", [5], ["1/0", "0"], {"kind": "pure/1"}, []],
    [1, "{}", [5], ["1", "0"], "text", []],
    {"profile": 1, "price": ["1/0", "0"], "neighbours": "add-remove", "key_delta": "0"},
    {"workload": 1, "price": ["1/0", "0"], "queries": [], "guarantee": {}, "notes": []},
    {"workload": 1, "price": ["1", "0"], "queries": [], "guarantee": [], "notes": []},
    {"synthesis": 1, "price": ["1/0", "0"], "unit": "person", "notes": []},
    [1, {"epsilon": "1", "delta": "1/0", "table": "t"}, {"kind": "pure/1"}],
    [1, {"epsilon": "1", "delta": "0", "table": "t"}, []],
    [1, {"steps": [["LinearRegression", []]], "table": "t"}, []],
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("rest", [b"", b"\n", b"\n12345678"])
def test_odd_bytes_are_refused_as_input(kind, odd, rest):
    with pytest.raises(InputError):
        KINDS[kind].release_type.from_bytes(json.dumps(odd).encode() + rest)


@pytest.mark.parametrize(("name", "said"), [("delta", "0"), ("delta", "1"), ("epsilon", "0")])
def test_an_epoch_at_a_price_that_buys_none_is_refused_at_once(name, said):
    city = Attribute("city", Kind.TEXT, ("Haifa", "Oslo"))
    plan = OnlinePlan.of(Domain((city,)), epsilon=1, delta=1e-6)
    with pytest.raises(InputError):
        OnlinePlan.from_dict({**plan.to_dict(), name: said})


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_nested_for_ever_are_refused_as_input(kind):
    with pytest.raises(InputError):
        KINDS[kind].release_type.from_bytes(b"[" * 100_000)
