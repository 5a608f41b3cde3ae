import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import discreet
from discreet.argument_names import AGGREGATES


def test_every_public_name_has_a_home_and_can_be_had():
    assert sorted(discreet._HOME) == sorted(discreet.__all__)
    assert dir(discreet) == sorted({*discreet.__all__, *discreet.PACKAGES})
    for name in discreet.__all__:
        assert getattr(discreet, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Lapplace'"):
        _ = discreet.Lapplace
    with pytest.raises(AttributeError, match=r"no attribute 'desc'.*descending"):
        _ = discreet.desc


def test_aggregates_have_the_names_of_others_too():
    assert set(AGGREGATES.values()) < set(discreet.__all__)
    assert discreet.sum is discreet.total


@pytest.mark.timed
def test_importing_the_package_is_quick():
    code = "import time, discreet; print(time.process_time())"
    best = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(3)
    )

    assert best < 0.4


def test_every_class_name_has_one_home():
    homes = Counter(
        node.name
        for file in Path(discreet.__file__).parent.rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in homes.items() if count > 1] == []


def test_an_odometer_without_charges_says_so():
    meter = discreet.Odometer()
    meter.charge(discreet.Pure(1))  # the result is not kept
    assert "meter = meter.charge" in meter.epsilon(0).method
    assert meter.charge(discreet.Pure(1)).epsilon(0).method == "sum of epsilons"


@pytest.mark.parametrize("wrong", [lambda s: discreet.GDP(1 / s), discreet.Gaussian, []])
def test_a_calibration_of_no_steps_is_told_the_call(wrong):
    with pytest.raises(discreet.InputError, match=r"calibrate\(\[CalibrationStep\(GDP"):
        discreet.calibrate(wrong, epsilon=1, delta=1e-6)
