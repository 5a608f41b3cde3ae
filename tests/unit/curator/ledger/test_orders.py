"""Orders are read once and mean the same everywhere."""

import pytest

from discreet.curator.ledger.accounts import Holder, analyst
from discreet.curator.ledger.orders import Order
from discreet.errors import InputError
from discreet.privacy import GDP, Filter, Pure
from discreet.privacy.budgets.charges import price, renyi

PURE, RHO = Filter.basic(1).price(Pure(1)), Filter.zcdp(1).price(Pure(1))


def test_the_order_of_prices_does_not_matter():
    orders = [Order("a", "d", "v", "p", prices) for prices in ((PURE, RHO), (RHO, PURE))]
    assert orders[0] == orders[1]
    assert Order.from_dict("a", orders[0].to_dict()) == orders[0]


@pytest.mark.parametrize("prices", [(), (PURE, PURE), (price(GDP(1), renyi(2)),)])
def test_prices_that_no_account_can_take_are_refused(prices):
    with pytest.raises(InputError, match="an order with prices"):
        Order("a", "d", "v", "p", prices)


@pytest.mark.parametrize("field", ["analyst", "dataset", "version", "plan", "request"])
@pytest.mark.parametrize("bad", ["", "a\0", "\udcff", 3])
def test_names_are_texts(field, bad):
    names = dict.fromkeys(("analyst", "dataset", "version", "plan", "request"), "x") | {field: bad}
    with pytest.raises(InputError, match=f"{field} is not a name"):
        Order(**names, prices=(PURE,))


@pytest.mark.parametrize("bad", [float("inf"), {1, 2}, b"x"])
def test_measurements_are_plain_json(bad):
    with pytest.raises(InputError, match="plain JSON"):
        Order("a", "d", "v", "p", (PURE,), [{"x": bad}])


@pytest.mark.parametrize(
    "parts", [("dataset", "d", "x"), ("group", "g", None), ("person", "p", None)]
)
def test_holders_are_of_four_kinds(parts):
    with pytest.raises(InputError, match="an account of kind"):
        Holder(*parts)


def test_a_holder_is_read_back_from_its_key():
    one = analyst('a"]', within="d,")
    assert Holder.read(one.key) == one
    assert str(one) == 'analyst a"] within d,'
