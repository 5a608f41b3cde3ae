"""The dossier: what a curator can show to an authority, a board or the public, to be printed.

Privacy: it is made of public metadata and of the ledger. No data is read, and no answer is in it.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from discreet import html_view
from discreet.curator.ledger.orders import NEWEST
from discreet.curator.reports.deployment_record import limit_words
from discreet.curator.reports.privacy_promise import private_tables, promise, promised, unit_words
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.ledger.accounts import Account
    from discreet.curator.ledger.orders import Entry

FRAMEWORKS: Final = yaml.safe_load(Path(__file__).with_name("law.yaml").read_text(encoding="utf-8"))
"""Laws and guidelines: their rules, each with its place, what it asks, what the curator shows
(facts of the dossier are filled in), and what remains the owner's task."""

_STYLE: Final = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto}
body{padding:0 1rem}table{border-collapse:collapse;width:100%;margin:1rem 0}tr{break-inside:avoid}
th,td{border:1px solid #999;padding:.3rem .5rem;text-align:left;vertical-align:top}
h2{margin-top:2rem;break-after:avoid}"""
_CLOSING: Final = (
    "It is neither a certificate nor legal advice. It does not cover how data were collected, "
    "machines and people with access to them, or releases made elsewhere. It does not hide facts "
    "about people at large, which answers are meant to show."
)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a dossier: text, and a table where it has one."""

    title: str
    text: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Dossier:
    """Sections to print; `made` is when, in UTC.

    Example:
        >>> print(Dossier("Clinic", "2026-01-01", (Section("One", "Text."),)).to_markdown())
        # Clinic
        <BLANKLINE>
        2026-01-01
        <BLANKLINE>
        ## One
        <BLANKLINE>
        Text.
        <BLANKLINE>
    """

    title: str
    made: str
    sections: tuple[Section, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON."""
        return asdict(self)

    def to_markdown(self) -> str:
        """The dossier as Markdown."""
        lines = [f"# {_inline(self.title)}", "", self.made, ""]
        for one in self.sections:
            lines += [f"## {_inline(one.title)}", "", _inline(one.text), ""]
            if one.rows:
                lines += [_bar(one.head), _bar(["---"] * len(one.head)), *map(_bar, one.rows), ""]
        return "\n".join(lines)

    def to_html(self) -> str:
        """The dossier as a printable page that loads nothing."""
        body = "".join(
            f"<h2>{escape(one.title)}</h2><p>{escape(one.text)}</p>"
            + (html_view.table(one.head, one.rows) if one.rows else "")
            for one in self.sections
        )
        title = escape(self.title)
        return (
            f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1><p>{escape(self.made)}</p>{body}"
            "</body></html>\n"
        )


def _inline(text: str) -> str:
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def _bar(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell if cell == '---' else _inline(cell) for cell in cells)} |"


def dossier(curator: "Curator", *, audit: object = None) -> Dossier:
    """Collect what a curator can show; `audit` is what `discreet audit --json` wrote."""
    entries = curator.ledger.entries(limit=NEWEST)
    charged = [one for one in entries if one.kind == "charged"]
    report = curator.ledger.verify()
    claims = _claims(audit)
    whole = "whole" if report.ok else f"NOT whole ({report.problem})"
    facts = {
        **_facts(curator, charged),
        "entries": str(report.entries),
        "head": report.head.hash[:16],
        "whole": whole,
        "audit": _audited(claims),
    }
    sections = (
        _held(curator),
        *_promised(curator),
        _asked(curator, charged, entries),
        Section(
            "Is the record whole?",
            f"Every entry was read again for this dossier. The ledger is {whole}: "
            f"{report.entries} entries, {report.pending} answers still to finish. "
            f"Hash of the newest entry: {report.head.hash}.",
        ),
        Section("What was tried against it", _audited(claims), _CLAIM, tuple(map(_claim, claims))),
        *_law(facts),
        Section("What this dossier does not say", _CLOSING),
    )
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Dossier("Privacy dossier", f"{now}, discreet {version('discreet')}", sections)


def _facts(curator: "Curator", charged: "Sequence[Entry]") -> dict[str, str]:
    known = {name: curator.budget(name) for name in curator.datasets()}
    tables = [one for name in known for one in private_tables(curator, name)]
    none = "no dataset yet"
    units = dict.fromkeys(f"{one.name}: {unit_words(one.unit)}" for one in tables)
    limits = dict.fromkeys(f"{one.name}: {limit_words(one.limits)}" for one in tables)
    return {
        "promises": "; ".join(f"{name}: {_cap(one)}" for name, one in known.items()) or none,
        "spent": "; ".join(f"{name}: {_spent(one)}" for name, one in known.items()) or none,
        "units": "; ".join(units) or none,
        "limits": "; ".join(limits) or none,
        "questions": str(len(charged)),
        "analysts": f"{len({one.by for one in charged})} people",
    }


def _cap(account: "Account") -> str:
    stated = ", ".join(f"{name} {amount:g}" for name, amount in promised(account).items())
    return f"{stated} for each person" if account.is_per_person else stated


def _spent(account: "Account") -> str:
    if account.cap is None:
        return "counted for each person"
    return f"{100 * account.share(account.total):.3g} % of the budget"


def _held(curator: "Curator") -> Section:
    rows = tuple(
        (dataset, one.name, unit_words(one.unit), ", ".join(one.columns), limit_words(one.limits))
        for dataset in curator.datasets()
        for one in private_tables(curator, dataset)
    )
    text = "Tables about people, whom they protect, and what one of them may add to an answer."
    head = ("Dataset", "Table", "Protected", "Columns", "Limits")
    return Section("What is held", text if rows else "No dataset yet.", head, rows)


def _promised(curator: "Curator") -> Iterator[Section]:
    for dataset in curator.datasets():
        account = curator.budget(dataset)
        row = (_cap(account), _spent(account), account.neighbours.value)
        head = ("Budget for ever", "Spent", "Neighbours")
        yield Section(f"What is promised: {dataset}", promise(curator, dataset), head, (row,))


def _asked(curator: "Curator", charged: "Sequence[Entry]", entries: "Sequence[Entry]") -> Section:
    rows = []
    for dataset in curator.datasets():
        mine = [one for one in charged if one.facts["dataset"] == dataset]
        days = [one.time[:10] for one in mine]
        who = ", ".join(dict.fromkeys(one.by for one in mine)) or "nobody"
        rows.append((dataset, str(len(mine)), who, *(f(days, default="-") for f in (min, max))))
    changed = [one for one in entries if one.kind in ("raised", "lowered")]
    raised = "; ".join(f"{one.time[:10]}: {one.facts.get('reason')}" for one in changed)
    text = f"Caps were changed {len(changed)} times{f' ({raised})' if raised else ''}."
    head = ("Dataset", "Questions charged", "By", "First", "Last")
    return Section("What was asked", text, head, tuple(rows))


_CLAIM: Final = ("Claim", "Epsilon claimed", "Delta", "Refuted up to", "Verdict")
_NUMBERS: Final = ("epsilon_claimed", "delta", "epsilon_refuted_up_to")
_NEEDED: Final = {"name", "verdict", *_NUMBERS}


def _claims(audit: object) -> list[Mapping[str, Any]]:
    found = [] if audit is None else audit.get("claims") if isinstance(audit, dict) else None
    if isinstance(found, list) and all(isinstance(o, dict) and set(o) >= _NEEDED for o in found):
        return found
    raise InputError(
        "this is not an audit",
        why="it has no list of claims with verdicts",
        fix="write one with: discreet audit --json > audit.json",
    )


def _claim(one: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = ("-" if one[name] is None else f"{one[name]:.3g}" for name in _NUMBERS)
    return (str(one["name"]), *numbers, str(one["verdict"]))


def _audited(claims: Sequence[Mapping[str, Any]]) -> str:
    if not claims:
        return "No audit is attached."
    refuted = sum(one["verdict"] != "stands" for one in claims)
    return f"An audit tried to refute {len(claims)} claims; {refuted} were refuted."


def _law(facts: Mapping[str, str]) -> Iterator[Section]:
    head = ("Where", "What it asks", "What is shown here", "What stays with you")
    for one in FRAMEWORKS:
        rows = tuple(
            (rule["where"], rule["asks"], rule["shown"].format_map(facts), rule["left"])
            for rule in one["rules"]
        )
        yield Section(one["name"], f"{one['source']}.", head, rows)
