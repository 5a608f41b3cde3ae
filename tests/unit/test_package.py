import subprocess
import sys

import pytest

import discreet


def test_every_public_name_has_a_home_and_can_be_had():
    assert sorted(discreet._HOME) == sorted(discreet.__all__) == dir(discreet)
    for name in discreet.__all__:
        assert getattr(discreet, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Lapplace'"):
        _ = discreet.Lapplace


def test_importing_the_package_is_quick():
    code = "import time, discreet; print(time.process_time())"
    best = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(3)
    )

    assert best < 0.4
