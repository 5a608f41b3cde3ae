"""Orders that the ledger stores by their fields."""

import pytest

import discreet as dp
from clinic_curator import add_visits
from discreet.curator.orders.drafted_orders import FieldsOrder, read_table
from discreet.curator.orders.order_kinds import KINDS
from discreet.errors import InputError
from order_specs import ORDERS, add_dated
from visits import clinic

STORED = [kind for kind, of in KINDS.items() if issubclass(of, FieldsOrder)]


@pytest.mark.parametrize("kind", STORED)
def test_an_order_is_read_back_as_it_was_charged(kind):
    with dp.Curator.in_memory() as curator:
        add_dated(curator, clinic(10), dp.Budget(epsilon=9, delta=1e-5))
        offer = curator._local.offer_order(kind, ORDERS[kind], None)
        back = KINDS[kind].read(offer.order(), curator.schema)
        assert type(back) is type(offer.planned)
        assert back.text == offer.planned.text
        assert back.decisions() == offer.planned.decisions()
        assert [*map(str, back.guarantees)] == [*map(str, offer.planned.guarantees)]
        assert KINDS[kind].price_of(offer.order()) == offer.planned.price


@pytest.mark.parametrize("name", ["nowhere", None, 3])
def test_a_private_table_is_named(name):
    with dp.Curator.in_memory() as curator:
        add_visits(curator)
        assert read_table("visits", curator.schema).name == "visits"
        with pytest.raises(InputError, match="private table"):
            read_table(name, curator.schema)
