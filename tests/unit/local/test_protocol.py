"""What every local protocol keeps: one face, one form of bytes, sums in any order."""

import json
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from discreet import local
from discreet.audit.replay import replay
from discreet.errors import InputError
from discreet.local.protocol import _KINDS, LocalProtocol, likelihood_ratio
from discreet.local.reports import HEAD, MAGIC, write_frame
from discreet.noise.bits import Keystream, replaced
from local_protocols import EVERY

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "local_reports.json").read_text())
every = pytest.mark.parametrize("name", EVERY)


def frame(protocol, value, key=bytes(32)):
    """A report whose every bit is known."""
    with replaced(lambda: Keystream(key)):
        return protocol.reporter().report(value)


def sums(aggregator):
    return aggregator.to_bytes()


def test_every_kind_of_protocol_is_examined():
    assert {type(protocol) for protocol, _ in EVERY.values()} == set(_KINDS.values())


@every
def test_reports_and_digests_are_the_bytes_they_always_were(name):
    protocol, values = EVERY[name]
    reports = [frame(protocol, value)[HEAD.size :].hex() for value in values]

    assert {"digest": protocol.digest.hex(), "reports": reports} == GOLDEN[name]


@every
def test_a_frame_names_its_form_its_parameters_and_itself(name):
    protocol, (value, _) = EVERY[name]
    data = protocol.reporter().report(value)
    magic, digest, _, count = HEAD.unpack_from(data)

    assert (magic, digest, count) == (MAGIC, protocol.digest, 1)
    assert len(data) == HEAD.size + protocol.width
    assert data[12:28] != protocol.reporter().report(value)[12:28]


@every
def test_parameters_travel_as_json(name):
    protocol, _ = EVERY[name]
    back = LocalProtocol.from_dict(json.loads(json.dumps(protocol.to_dict())))

    assert back == protocol
    assert back.digest == protocol.digest


@every
def test_merging_is_associative_and_order_free(name):
    protocol, values = EVERY[name]
    parts = [
        b"".join(frame(protocol, value, bytes([i] * 32)) for value in values) for i in range(3)
    ]
    single = [protocol.aggregator().add(part) for part in parts]
    whole = sums(protocol.aggregator().add(parts))

    for a, b, c in permutations(single):
        assert sums(a.merge(b).merge(c)) == sums(a.merge(b.merge(c))) == whole


@every
def test_an_aggregator_survives_storage(name):
    protocol, values = EVERY[name]
    one = protocol.aggregator().add(map(protocol.reporter().report, values))
    back = local.Aggregator.from_bytes(one.to_bytes())

    assert back.to_bytes() == one.to_bytes()
    assert back.n == 2
    assert back.add(protocol.reporter().report(values[0])).n == 3


def test_an_aggregator_has_the_bytes_it_always_had():
    protocol, _ = EVERY["hadamard-response"]
    rows = np.array([[3], [8], [9]], dtype=np.uint8)
    one = protocol.aggregator().add(write_frame(protocol.digest, rows, name=bytes(range(16))))

    assert one.to_bytes().hex() == GOLDEN["aggregator"]
    back = local.Aggregator.from_bytes(bytes.fromhex(GOLDEN["aggregator"]))
    assert (back.n, back.estimate().counts.tolist()) == (3, one.estimate().counts.tolist())


@every
def test_what_comes_twice_counts_once(name):
    protocol, (value, other) = EVERY[name]
    report, more = protocol.reporter().report(value), protocol.reporter().report(other)
    one = protocol.aggregator().add(report).add(report + more + more)

    assert (one.n, one.rejected["replayed"]) == (2, 2)
    with pytest.raises(InputError, match="same reports"):
        one.merge(protocol.aggregator().add(more))


def test_nobody_can_make_an_aggregator_large_without_being_counted():
    protocol, (value, _) = EVERY["hadamard-response"]
    empty = [HEAD.pack(MAGIC, protocol.digest, bytes([i] * 16), 0) for i in range(50)]
    wrong = [HEAD.pack(MAGIC, protocol.digest, bytes([i] * 16), 1) + b"\xff" for i in range(50, 99)]
    one = protocol.aggregator().add(b"".join(empty)).add(b"".join(wrong))
    two = HEAD.pack(MAGIC, protocol.digest, bytes(16), 3) + bytes([1, 255, 2])
    one.add(two).add(two).add(protocol.reporter().report(value))

    assert len(one._seen) == 2
    assert (one.n, one.rejected) == (
        3,
        {"malformed": 51, "wrong parameters": 0, "replayed": 2},
    )


@every
def test_reports_of_other_parameters_are_refused_and_counted(name):
    protocol, _ = EVERY[name]
    strange = MAGIC + bytes(8) + bytes(16) + (5).to_bytes(4, "little") + bytes(5 * protocol.width)
    one = protocol.aggregator().add(strange)

    assert (one.n, one.rejected["wrong parameters"]) == (0, 5)
    other = next(p for p, _ in EVERY.values() if p.digest != protocol.digest)
    with pytest.raises(InputError, match="different parameters"):
        one.merge(other.aggregator())


@every
def test_malformed_reports_are_refused_and_counted(name):
    protocol, (value, _) = EVERY[name]
    good = protocol.reporter().report(value)
    full = HEAD.pack(MAGIC, protocol.digest, bytes(16), 1) + b"\xff" * protocol.width
    short = HEAD.pack(MAGIC, protocol.digest, bytes(15) + b"1", 2) + good[HEAD.size :]
    one = protocol.aggregator().add([b"?", good[:-1], short, b"\0" * 40, full, good])

    assert one.n == 1
    assert one.rejected["malformed"] == 5


@every
def test_reporting_shows_nothing_but_the_report(name):
    """The same words of randomness, whatever the value."""
    protocol, values = EVERY[name]
    codes = [protocol.read(value) for value in values]

    assert not replay(lambda one: protocol.send(protocol.randomize(one)).shape, *codes)


@every
def test_strange_values_are_refused_without_being_quoted(name):
    protocol, _ = EVERY[name]
    if name.endswith("sketch"):
        strange = 1.5
    else:
        strange = object() if "mean" in name or name in {"rappor", "heavy-hitters"} else 10**6
    with pytest.raises((InputError, TypeError)) as refused:
        protocol.reporter().report([strange])
    assert "1000000" not in str(refused.value)


@every
def test_nobody_has_reported_yet(name):
    protocol, values = EVERY[name]
    found = protocol.aggregator().estimate(list(values) if not protocol.is_self_contained else None)

    assert found.n == 0


def test_flip_probabilities_are_rationals_below_the_promise():
    for epsilon in (Fraction(1, 100), 1, 5):
        ratio = likelihood_ratio(epsilon)
        assert isinstance(ratio, Fraction)
        assert 0 <= np.exp(float(epsilon)) - float(ratio) < 1e-12 * float(ratio)


@pytest.mark.parametrize("name", ["k-randomized-response", "unary-encoding", "symmetric"])
def test_support_probabilities_are_the_papers(name):
    protocol, _ = EVERY[name]
    p, q = map(float, protocol.support)
    e = np.e
    expected = {
        "k-randomized-response": (e / (e + 9), 1 / (e + 9)),
        "unary-encoding": (0.5, 1 / (e + 1)),
        "symmetric": (e**0.5 / (e**0.5 + 1), 1 / (e**0.5 + 1)),
    }[name]

    assert (p, q) == pytest.approx(expected, abs=1e-15)


def test_labels_are_values_and_a_list_is_looked_up():
    drinks = local.HadamardResponse(epsilon=3, domain=["tea", "coffee", "water"])
    votes = drinks.aggregator().add(drinks.reporter().report(["tea"] * 900 + ["water"] * 100))
    found = votes.estimate(["water", "tea"])

    assert found.values == ["water", "tea"]
    assert votes.heavy_hitters(0.5)[0][0] == "tea"
    assert votes.estimate().to_arrow().column_names[:2] == ["value", "estimate"]
    low, high = votes.estimate().interval(0.999)
    assert low[0] <= 900 <= high[0]


def test_a_digest_is_of_all_parameters():
    digests = {
        local.HadamardResponse(epsilon=e, domain=d).digest for e in (1, 2) for d in (2, 3)
    } | {local.HadamardResponse(epsilon=1, domain=["a", "b"]).digest}

    assert len(digests) == 5


@pytest.mark.parametrize(
    "domain", [1, 1 << 27, ["a", "a"], [1, 1], [1, "2"], [1.5, 2], [False, True], [[1, 2]], []]
)
def test_a_domain_is_of_different_values(domain):
    with pytest.raises(InputError):
        local.HadamardResponse(epsilon=1, domain=domain)


def test_damaged_aggregators_are_refused():
    data = EVERY["hadamard-response"][0].aggregator().to_bytes()
    for broken in (b"", data[:-1], data + b"x", b"{}\n"):
        with pytest.raises(InputError, match="no aggregator"):
            local.Aggregator.from_bytes(broken)


def test_a_protocol_of_a_later_version_is_refused():
    with pytest.raises(InputError, match="does not know"):
        LocalProtocol.from_dict({"protocol": "quantum/1", "epsilon": "1"})


@pytest.mark.parametrize("epsilon", [0, -1, float("inf"), 10**6, "1"])
def test_an_epsilon_that_no_coin_has_is_refused(epsilon):
    with pytest.raises(InputError):
        local.HadamardResponse(epsilon=epsilon, domain=4)


@pytest.mark.parametrize("epsilon", ["1e100000000", "1" * 500, "nan", "", None, "1/0x1"])
def test_a_stored_number_is_read_at_once_or_refused(epsilon):
    """Ten to a large power would take for ever, on a device that trusts a server's parameters."""
    told = EVERY["hadamard-response"][0].to_dict() | {"epsilon": epsilon}
    with pytest.raises(InputError):
        local.LocalProtocol.from_dict(told)


@pytest.mark.parametrize("bits", ["3", 2.7, True, 0, 13])
def test_hash_bits_are_whole(bits):
    with pytest.raises(InputError):
        local.LocalHashing(epsilon=1, domain=10, hash_bits=bits)


@every
@pytest.mark.parametrize("values", [None, 1.5, [[1], [1, 2]], [["a"], "b"], object()])
def test_what_is_no_value_is_refused_in_words(name, values):
    protocol, _ = EVERY[name]
    if isinstance(values, float | None) and name.endswith(("1bit", "-mean")):
        return  # a number, and a missing one
    with pytest.raises(InputError):
        protocol.reporter().report(values)


def test_rows_that_are_no_reports_are_refused_and_not_left_out_silently():
    survey = local.LocalHashing(epsilon=1, domain=4)
    for rows in (survey.randomize(survey.read([0, 1, 2])), ["text"], [1]):
        with pytest.raises(InputError, match=r"add protocol\.reporter\(\)\.report\(values\)"):
            survey.aggregator().add(rows)
