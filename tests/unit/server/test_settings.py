"""Settings are checked at birth and travel to workers whole."""

import dataclasses
import json

import pytest

from discreet.errors import InputError
from discreet.server.settings import Settings


def test_settings_come_back_as_they_were_written():
    settings = Settings(hosts=("dp.example.org",), quantum=0.5, burst=7)

    assert Settings(**json.loads(json.dumps(dataclasses.asdict(settings)))) == settings


NUMBERS = [
    field.name for field in dataclasses.fields(Settings) if field.name not in {"hosts", "steps"}
]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), "1", None, True])
def test_senseless_numbers_are_refused(name, wrong):
    with pytest.raises(InputError, match=name):
        Settings(**{name: wrong})


@pytest.mark.parametrize("steps", [(), (0,), (1, -1), ("1",), (float("inf"),), (1, 1), (2, 1), 7])
def test_steps_rise_from_above_0(steps):
    with pytest.raises(InputError, match="steps"):
        Settings(steps=steps)


@pytest.mark.parametrize("hosts", [(), ("",), (7,)])
def test_a_server_has_a_name(hosts):
    with pytest.raises(InputError):
        Settings(hosts=hosts)


@pytest.mark.parametrize("steps", [(), [], 1.0, "14", (1, 0), (1, "4"), (float("nan"),)])
def test_steps_are_numbers_above_0(steps):
    with pytest.raises(InputError, match="steps"):
        Settings(steps=steps)


def test_a_quantum_leaves_time_to_compute():
    assert Settings(quantum=500).quantum == 500
    with pytest.raises(InputError, match="quantum"):
        Settings(quantum=640)
