"""Plans and filters are different things, and the type checker knows."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from discreet.errors import InputError
from discreet.privacy import GaussianNoise, LaplaceNoise, Plan, Pure, compose


def test_a_plan_is_priced_as_a_composition():
    plan = Plan([(LaplaceNoise(0.1), 20)]).then(GaussianNoise(0.3)).then(Pure(0.01), 4)
    total = compose([(LaplaceNoise(0.1), 20), GaussianNoise(0.3), (Pure(0.01), 4)])
    assert plan.whole == total
    assert plan.epsilon(1e-6) == total.epsilon(1e-6)
    assert plan.delta(1) == total.delta(1)


def test_adding_a_step_leaves_the_old_plan_as_it_was():
    plan = Plan().then(Pure(0.1))
    plan.then(Pure(0.2))
    assert plan == Plan([Pure(0.1)])
    assert plan.epsilon(0).upper == 0.1


def test_storage_gives_back_the_same_plan():
    plan = Plan([(LaplaceNoise(0.1), 20), Pure(1)])
    assert Plan.from_dict(plan.to_dict()) == plan
    for broken in ({}, {"plan": 1}, {"plan": Pure(1).to_dict()}):
        with pytest.raises(InputError):
            Plan.from_dict(broken)


SNIPPET = """
from discreet.privacy import Contour, Filter, LaplaceNoise, Odometer, Plan, Pure, compose

budget, meter = Filter.basic(epsilon=1), Odometer()
plan, total, spent = Plan([Pure(0.1)]), compose([Pure(0.1)]), Contour()
budget.charge(budget.price(Pure(0.1)))
meter.charge(meter.price(LaplaceNoise(0.1)))
budget.charge(budget.price_sum(total))
meter.charge(meter.price_sum(plan.whole))
budget.charge(plan)
budget.charge(total)
budget.charge(spent)
budget.price(plan)
budget.price(total)
budget.price(spent)
meter.charge(total)
meter.price(total)
the_filter: Filter = plan
the_filter = spent
the_filter = total
the_plan: Plan = budget
"""


def test_the_type_checker_keeps_numerical_composition_out_of_filters(tmp_path):
    script = tmp_path / "adaptive.py"
    script.write_text(textwrap.dedent(SNIPPET))
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,  # for its configuration, and a cache that `make check` has warmed
    )
    blamed = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    lines = SNIPPET.splitlines()
    first = lines.index("budget.charge(plan)") + 1
    assert blamed == set(range(first, len(lines) + 1)), done.stdout + done.stderr
