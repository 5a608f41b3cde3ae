"""A server under load: 64 analysts who ask for a minute, over real connections."""

import os
import sys
import tempfile
from pathlib import Path

import discreet as dp

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import many_analysts
import running_server

ANALYSTS = 64
SECONDS = 60.0
WORKERS = os.cpu_count() or 2


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as place:
        folder = Path(place) / "clinic.discreet"
        with dp.Curator(folder) as curator:
            many_analysts.furnish(curator, ANALYSTS, pocket=200, poor=ANALYSTS // 4)
        with running_server.serving(folder, workers=WORKERS) as server:
            names = [f"analyst {n}" for n in range(ANALYSTS)]
            tokens = [server.token(name, "analyst") for name in names]
            tally = many_analysts.ask_all(server.url, tokens, SECONDS)
        with dp.Curator(folder) as curator:
            many_analysts.check(curator, tally)
        if not tally.refusals:
            raise SystemExit("nobody ran out of budget, and a quarter of them should have")
        show(tally)


def show(tally):
    print(f"{ANALYSTS} analysts, {WORKERS} workers, quantum 250 ms, {tally.wall:.0f} s")
    figures = {
        "answers": len(tally.answers),
        "budget refusals": tally.refusals,
        "other errors": len(tally.errors),
        "lost or double charges": 0,
        "answers a second": len(tally.answers) / tally.wall,
        "p50, ms": tally.quantile(0.5) * 1000,
        "p95, ms": tally.quantile(0.95) * 1000,
    }
    for what, figure in figures.items():
        print(f"{what:<44}{figure:>12,.1f}")


if __name__ == "__main__":
    main()
