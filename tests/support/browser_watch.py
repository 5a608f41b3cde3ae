"""People at a browser: made-up visits to ask about, and a watch for all that goes wrong."""

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
from axe_playwright_python.sync_playwright import Axe

from discreet.curator.budget import Budget
from discreet.plan.schema import Bounds, Keys, Limits

_CHECK = (Path(__file__).parents[1] / "browser" / "accessibility.js").read_text(encoding="utf-8")
CITIES = ["Austin", "Haifa", "Lagos", "Oslo"]
COUNTS = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"


def visits(people=4000):
    """Made-up visits, one a person."""
    first = dt.date(2025, 1, 1)
    return pa.table(
        {
            "patient": range(people),
            "city": [CITIES[i * i % 7 % 4] for i in range(people)],
            "age": [20 + i * 7 % 60 for i in range(people)],
            "day": [first + dt.timedelta(days=i % 360) for i in range(people)],
            "urgent": [i % 5 == 0 for i in range(people)],
        }
    )


def add_visits(curator, name="visits", budget=None):
    curator.add(
        name,
        visits(),
        unit="patient",
        budget=budget or Budget(epsilon=2),
        columns={
            "city": Keys(CITIES),
            "age": Bounds(0, 120),
            "day": Bounds(dt.date(2025, 1, 1), dt.date(2025, 12, 31)),
        },
        required=["patient", "city", "age", "day", "urgent"],
        limits=Limits(max_groups=1, max_rows=1),
    )


@dataclass
class Visitor:
    """Somebody at a browser, and everything that went wrong in it."""

    page: object
    url: str
    wrong: list = field(default_factory=list)
    strangers: list = field(default_factory=list)

    def sign_in(self, token, path="/ask"):
        self.page.goto(f"{self.url}{path}")
        self.page.get_by_label("Your token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        refused, inside = self.page.get_by_role("alert"), self.page.get_by_text("Sign out")
        refused.or_(inside).first.wait_for()
        assert not refused.count(), refused.first.inner_text()  # else one would wait in vain
        self.page.wait_for_url(f"**{path}")

    def enter(self, token, path):
        """As `sign_in`, without the sign-in page."""
        reply = self.page.context.request.post(f"{self.url}/v1/session", data={"token": token})
        assert reply.ok
        self.page.goto(f"{self.url}{path}")
        self.page.get_by_role("button", name="Sign out").wait_for()

    def complaints(self):
        """What keeps somebody out of the page as it is now."""
        return self.page.evaluate(_CHECK)

    def violations(self):
        """What axe-core calls serious or critical in the page as it is now."""
        found = Axe().run(self.page).response["violations"]
        bad = [one for one in found if one["impact"] in ("serious", "critical")]
        return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in bad]

    def ask(self, sql):
        self.page.get_by_label("Question in SQL").fill(sql)


def watch(visitor):
    """Console errors, CSP violations, exceptions, and requests that leave the host."""
    host = urlsplit(visitor.url).netloc

    def hear(message):
        # A refusal that the page explains is also printed by the browser as a failed resource.
        if message.type == "error" and "Failed to load resource" not in message.text:
            visitor.wrong.append(message.text)

    def see(request):
        where = urlsplit(request.url)
        if where.scheme in {"http", "https"} and where.netloc != host:
            visitor.strangers.append(request.url)

    visitor.page.on("console", hear)
    visitor.page.on("pageerror", lambda error: visitor.wrong.append(str(error)))
    visitor.page.on("request", see)
    visitor.page.add_init_script(
        "document.addEventListener('securitypolicyviolation', (e) =>"
        " console.error(`CSP: ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}`))"
    )
