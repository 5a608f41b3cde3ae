"""Types keep numerical composition out of filters: `mypy` reads this file, nobody runs it.

The first charges are accepted. Each `type: ignore` says that its line is refused; one that is not
refused any more fails as an ignore that is not used.
"""

from discreet.privacy import Contour, Filter, LaplaceNoise, Odometer, Plan, Pure, compose

budget, meter = Filter.basic(epsilon=1), Odometer()
plan, total, spent = Plan([Pure(0.1)]), compose([Pure(0.1)]), Contour()
budget.charge(budget.price(Pure(0.1)))
meter.charge(meter.price(LaplaceNoise(0.1)))
budget.charge(budget.price_sum(total))
meter.charge(meter.price_sum(plan.whole))
budget.charge(plan)  # type: ignore[arg-type]
budget.charge(total)  # type: ignore[arg-type]
budget.charge(spent)  # type: ignore[arg-type]
budget.price(plan)  # type: ignore[arg-type]
budget.price(total)  # type: ignore[arg-type]
budget.price(spent)  # type: ignore[arg-type]
meter.charge(total)  # type: ignore[arg-type]
meter.price(total)  # type: ignore[arg-type]
the_filter: Filter = plan  # type: ignore[assignment]
the_filter = spent  # type: ignore[assignment]
the_filter = total  # type: ignore[assignment]
the_plan: Plan = budget  # type: ignore[assignment]
