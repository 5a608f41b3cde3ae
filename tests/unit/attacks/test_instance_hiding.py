import numpy as np
import pytest

from discreet.attacks import InstanceHiding, Promise
from discreet.attacks.instance_hiding import Encoded, masked
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError


def test_masked_mixtures_are_taken_apart():
    outcome = InstanceHiding(promise=Promise(1)).run(masked(SplitMix64(1)), 2)

    assert outcome.success >= 0.95
    assert outcome.refutes


def test_mixtures_whose_mixing_is_public_are_solved():
    attack = InstanceHiding(promise=Promise(1))

    assert attack.run(lambda images, how: Encoded(how @ images, how), 2).success == 1.0


def test_pixels_of_images_are_within_one_and_masks_hide_signs_alone():
    def check(images, mixing):
        encoded = masked(SplitMix64(3))(images, mixing)
        assert np.abs(images).max() <= 1
        assert np.allclose(mixing.sum(axis=1), 1)
        assert ((mixing > 0).sum(axis=1) == 2).all()
        assert np.allclose(np.abs(encoded.pixels), np.abs(mixing @ images))
        assert abs(np.mean(encoded.pixels > 0) - 0.5) < 0.01
        return encoded

    InstanceHiding().run(check, 1)


def test_masks_of_nothing_tell_nothing():
    """Somebody else's images: whatever is found in them says nothing about these."""
    draws = SplitMix64(9)

    def others(images, mixing):
        return masked(draws)(2 * draws.uniform(*images.shape) - 1, mixing)

    outcome = InstanceHiding(images=10, pixels=200, mixtures=60).run(others, 12)

    assert abs(outcome.success - 0.5) < 3 * 0.5 / np.sqrt(outcome.n)


def test_success_rises_as_the_noise_falls():
    found = []
    for sigma in (100.0, 10.0, 3.0, 0.1):
        draws = SplitMix64(4)
        outcome = InstanceHiding().run(
            lambda images, how, d=draws, s=sigma: Encoded(
                how @ images + s * d.normal(len(how), images.shape[1]), how
            ),
            10,
        )
        found.append(outcome.success)

    assert found[0] < 0.62
    assert found == sorted(found)
    assert found[-1] == 1.0


def test_pixels_that_are_not_numbers_are_refused():
    with pytest.raises(InputError, match="finite"):
        InstanceHiding().run(lambda images, how: Encoded(np.nan * (how @ images)), 1)
