"""The SQL that a question becomes, in the order in which it runs."""

from discreet.answer.ask import norms_of
from discreet.answer.limits import Law, Weighing
from discreet.plan.statistics import Distinct, Ranks
from discreet.sql.compile import SECRET, Compiled


def statements(compiled: Compiled, weighing: Weighing) -> list[str]:
    """All statements of a query with one grouping set, for these limits."""
    people = [] if compiled.by_row else [compiled.pairs(), compiled.norms()]
    return [
        *map(str, people),
        *(compiled.spread(norm.name, norm.bounds) for norm in norms_of(compiled, weighing.law)),
        *_limiting(compiled, weighing),
        *_asking(compiled, weighing),
    ]


def _limiting(compiled: Compiled, weighing: Weighing) -> list[str]:
    if compiled.by_row:
        return []
    square = weighing.law is Law.GAUSSIAN
    norm, rows = ("l2", weighing.rows**2) if square else ("l1", weighing.rows)
    few = [] if compiled.known else compiled.few_groups(weighing.groups, SECRET)
    return [
        *map(str, few),
        str(compiled.weights("heavy", norm, rows, square=square)),
        str(compiled.weights("roaming", "l0", weighing.groups, square=square)),
    ]


def _asking(compiled: Compiled, weighing: Weighing) -> list[str]:
    totals = compiled.placed_totals() if compiled.known else compiled.totals()
    kinds = compiled.statistics
    distincts = [
        compiled.distincts(s, weighing.rows, SECRET) for s in kinds if isinstance(s, Distinct)
    ]
    return [totals, *distincts, *(compiled.ranks(s) for s in kinds if isinstance(s, Ranks))]
