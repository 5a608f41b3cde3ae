import math
from dataclasses import dataclass, replace

import pytest

from discreet import noise
from discreet.audit import conformance
from discreet.audit.conformance import check_mechanism
from discreet.errors import InputError, InvariantBroken
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Pair
from discreet.privacy import Pure


class Sound(Laplace):
    __doc__ = Laplace.__doc__
    __slots__ = ()


def made(**members):
    """A subclass of Laplace with some members replaced."""
    space = {"__doc__": Laplace.__doc__, "__slots__": (), **members}
    return type("Made", (Laplace,), space)(epsilon=1, sensitivity=1)


def claimed(**parts):
    sound = Laplace(epsilon=1, sensitivity=1).claim
    return made(claim=property(lambda _: replace(sound, **parts)))


def constant(value):
    """A method that answers with one value."""
    return lambda _self, *_arguments: value


def test_a_sound_mechanism_passes():
    check_mechanism(Sound(epsilon=1, sensitivity=1))


def raises_type_error(self, value):
    if isinstance(value, float):
        raise TypeError
    return Laplace.release(self, value)


def nan_in_other_words(self, value):
    if isinstance(value, float):
        raise InputError("a value", why="it is NaN" if math.isnan(value) else "no", fix="drop it")
    return Laplace.release(self, value)


def raises_overflow(self, value):
    if not isinstance(value, list):
        float(value)
    return Laplace.release(self, value)


def raises_on_nothing(self, value):
    if isinstance(value, list):
        min(value)
    return Laplace.release(self, value)


def overflows(self, value):
    return Laplace.release(self, value) if isinstance(value, float) else math.inf


BROKEN = {
    "guarantee of no known kind": made(guarantee=3),
    "no section": type("Made", (Laplace,), {"__doc__": "Noise.", "__slots__": ()})(
        epsilon=1, sensitivity=1
    ),
    "infinite error": made(error=constant(math.inf)),
    "negative error": made(error=constant(-1.0)),
    "falls with confidence": made(error=lambda _, confidence: 2.0 - float(confidence)),
    "accepts confidence": made(error=constant(1.0)),
    "no claim": made(claim=None),
    "claims another guarantee": claimed(guarantee=Pure(1)),
    "without pairs": claimed(pairs=()),
    "pairs an input with itself": claimed(pairs=(Pair(1, 1),)),
    "its own claim is about": claimed(pairs=(Pair(0, 1), Pair(0.5, 1.5))),
    "two shapes": claimed(draw=lambda value, runs: [[0] * (1 + value)] * runs),
    "as often as it is told": claimed(draw=lambda _, runs: [0] * (runs - 1)),
    "again and again": claimed(draw=lambda value, runs: [value] * runs),
    "raises TypeError": made(release=raises_type_error),
    "different words": made(release=nan_in_other_words),
    "takes fields it does not have": type("Made", (Laplace,), {"__doc__": Laplace.__doc__})(
        epsilon=1, sensitivity=1
    ),
    "about NaN or infinity": made(release=constant(0)),
    "raises OverflowError": made(release=raises_overflow),
    "raises ValueError": made(release=raises_on_nothing),
    "answers with NaN or infinity": made(release=overflows),
    "leaks beside its noise": claimed(pairs=(Pair(0, 5),)),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_every_broken_face_is_named(fault):
    with pytest.raises(InvariantBroken, match=fault):
        check_mechanism(BROKEN[fault])


def test_a_release_that_the_claim_does_not_draw_is_noticed():
    thin = made(release=lambda self, value: value + noise.discrete_laplace(self.scale / 2))

    conformance.check_release(Sound(epsilon=1, sensitivity=1))
    with pytest.raises(InvariantBroken, match="otherwise than its claim: release and draw differ"):
        conformance.check_release(thin)


def test_what_is_no_mechanism_fails_first():
    with pytest.raises(InvariantBroken, match="is no Mechanism"):
        check_mechanism(object())


def test_a_mechanism_that_can_be_changed_fails():
    loose = dataclass(type("Loose", (), {"__annotations__": {"x": int}}))(x=1)
    with pytest.raises(InvariantBroken, match="lets x be changed"):
        conformance.check_frozen(loose)


def test_a_nest_of_data_is_planted_number_by_number():
    nest = {"a": (1, [2, 3])}

    assert conformance._numbers(nest) == [1, 2, 3]
    assert conformance._planted(nest, 1, "x") == {"a": (1, ["x", 3])}
