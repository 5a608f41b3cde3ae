import pytest

from discreet.audit.evidence import Evidence, Point, points, strongest
from discreet.errors import InputError
from discreet.privacy import ZCDP, Approximate, GaussianNoise, Pure, compose


@pytest.mark.parametrize(
    "guarantee",
    [
        Pure(1),
        Approximate(1, 0.01),
        ZCDP(0.5),
        GaussianNoise(1),
        Approximate(2, 0.4),
        Approximate(1, 0.01).group(3),  # its delta prints as a decimal below it
        compose([Pure(0.5), (Approximate(1, 0.01), 3)]),  # no epsilon is found at its own delta
    ],
)
def test_points_are_promises_that_the_guarantee_makes(guarantee):
    promised = points(guarantee)

    assert promised[0].epsilon == 0
    assert [point.epsilon for point in promised] == sorted(point.epsilon for point in promised)
    for point in promised:
        assert guarantee.delta(point.epsilon) <= point.delta < 1


def test_the_steepest_promise_is_the_one_that_is_stated():
    assert points(Pure(2))[-1] == Point(2.0, 0.0)
    assert points(Approximate(1.5, 0.02))[-1] == Point(1.5, 0.02)
    assert points(ZCDP(0.5))[-1].delta == pytest.approx(1e-3, rel=0.5)


def test_a_guarantee_without_a_promise_is_refused():
    with pytest.raises(InputError, match="nothing to refute"):
        points(Approximate(0, 1))


def test_evidence_refutes_by_a_number_or_by_a_reason():
    point = Point(1.0, 0.0)

    assert not Evidence("c", "samples", point, 1.0, "event").refuted
    assert Evidence("c", "samples", point, 1.01, "event").refuted
    assert Evidence("c", "samples", point, 0.0, "event", reason="it raises").refuted


def test_the_strongest_evidence_leaves_least_room():
    weak = Evidence("c", "samples", Point(0.0, 0.5), -0.7, "certain on both sides")
    strong = Evidence("c", "samples", Point(1.0, 0.0), 0.5, "half of the way")

    assert weak.reach == pytest.approx(-1, abs=0.02)
    assert strong.reach == pytest.approx(-0.5)
    assert strongest([weak, strong]) is strong
