"""The lab: each published attack against raw answers, a classical defence, and a curator.

A play makes people up, builds the system that is attacked, and runs the attacker of
`discreet.attacks` against it. The private system is a real curator, asked through its public face,
or a mechanism where a curator has no question for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from discreet.attacks.outcome import Outcome
from discreet.errors import InputError
from discreet.lab import quantum, records, releases, samples, subsets, wards
from discreet.lab.setting import AGAINST, Against, Setting

__all__ = ["AGAINST", "PLAYS", "Against", "Outcome", "Play", "Setting", "play", "quantum"]


@dataclass(frozen=True, slots=True)
class Play:
    """An attack in one line, what success means, what it meets, and how hard it tries.

    `raw` are the answers of somebody who does nothing about this attack.
    """

    summary: str
    success: str
    rounded: str
    private: str
    effort: int
    unit: str
    run: Callable[[Setting], Outcome]
    raw: str = "exact answers"


_SUMS = "sums over subsets"
_PLAYS = {
    "exponential": Play(
        "Weigh all 2^12 databases by answers about subsets of people (after Dinur, Nissim).",
        "share of people whose secret bit is right",
        "sums rounded to 5",
        f"a curator's {_SUMS}",
        4096,
        "questions",
        subsets.exponential,
    ),
    "reconstruct": Play(
        "Solve random subset sums for everybody's secret by least squares.",
        "share of people whose secret bit is right",
        "sums rounded to 5",
        f"a curator's {_SUMS}",
        1024,
        "questions",
        subsets.reconstruct,
    ),
    "linear-program": Play(
        "The same by a linear program (needs scipy: discreet[attack]).",
        "share of people whose secret bit is right",
        "sums rounded to 5",
        f"a curator's {_SUMS}",
        384,
        "questions",
        subsets.linear_program,
    ),
    "robust": Play(
        "The same where one answer in five is garbage (needs scipy: discreet[attack]).",
        "share of people whose secret bit is right",
        "sums rounded to 5, and one in five garbage",
        f"a curator's {_SUMS}, and one in five garbage",
        384,
        "questions",
        subsets.robust,
    ),
    "differencing": Play(
        "Ask about everybody, ask about everybody but one, and subtract.",
        "share of targets, one a ward, whose secret bit is right",
        "sums rounded to 5",
        "a curator's sums by ward",
        1,
        "pairs of questions",
        wards.differencing,
    ),
    "averaging": Play(
        "Ask the same question until the noise has averaged out.",
        "share of targets, one a ward, whose secret bit is right",
        "fresh noise of this epsilon on every answer, and nobody keeps count",
        "a curator's sums by ward, whose repeats are free and identical",
        200,
        "repeats",
        wards.averaging,
    ),
    "refusals": Play(
        "Ask an auditor who refuses what would tell too much, and learn from what is refused.",
        "share of people, 7 a ward, whose secret bit is right",
        "exact sums, refused where they would tell a bit",
        "a curator's sums by ward and question",
        7,
        "questions",
        wards.refusals,
    ),
    "tracing": Play(
        "Tell who was in a study of 100 people from 1000 published means.",
        "share of members found where 1 % of strangers are taken for members",
        "means rounded to one decimal",
        "a curator's sums by attribute",
        5,
        "studies",
        releases.tracing,
        raw="exact means",
    ),
    "linkage": Play(
        "Recognise people in sparse ratings from 8 that are known, 2 of them wrong.",
        "share of targets of whom one more rating is learnt; baseline: of people not in the data",
        "days coarsened to months",
        "a curator's counts of viewers who fit what is known and what is to be learnt",
        300,
        "targets",
        releases.linkage,
        raw="ratings without names",
    ),
    "intersection": Play(
        "Put two anonymous releases about the same patients together.",
        "share of common patients whose condition, one of 30, is right",
        "5-anonymous classes (Mondrian)",
        "a curator's counts in cells of about 5 people",
        2000,
        "common patients",
        releases.intersection,
        raw="records without names",
    ),
    "census": Play(
        "Rebuild the seven people of a block from published counts, medians and means.",
        "share of people rebuilt exactly, averaged over the blocks that fit",
        "means rounded to whole years",
        "a curator's counts of every age and kind, in 60 such blocks, of which 10 people are named",
        2_000_000,
        "ages tried",
        releases.census,
        raw="exact statistics",
    ),
    "social-graph": Play(
        "Plant a few accounts in a network, find them without names, and then their friends.",
        "share of pairs of people of whom it is told right whether they are friends",
        "5 % of friendships moved",
        "randomized response by every pair of people",
        20,
        "networks",
        records.social_graph,
        raw="the network without names",
    ),
    "instance-hiding": Play(
        "Take apart images that were mixed two by two and whose signs were flipped (InstaHide).",
        "share of images of which it is told right whether they are bright",
        "mixtures with random signs, of whom is hidden",
        "mixtures with Gaussian noise",
        5,
        "collections of 20 images",
        records.instance_hiding,
        raw="plain mixtures",
    ),
    "definitions": Play(
        "Find somebody whom a release exposes that keeps a rejected definition (raw: additive).",
        "share of releases in which somebody's code, one of 100, is told right",
        'everybody published with chance 1/n ("1 + epsilon", but by chance)',
        "randomized response",
        1000,
        "releases",
        records.definitions,
        raw="a random record, published",
    ),
    "holdout": Play(
        "Choose features with the help of the holdout that judges them.",
        "accuracy that is reported; baseline: accuracy on fresh data",
        "accuracies rounded to two decimals",
        "ReusableHoldout",
        5,
        "analyses",
        samples.holdout,
        raw="exact accuracies",
    ),
    "holdout-label": Play(
        "Read one hidden label out of a holdout whose other labels are known.",
        "share of holdouts, each of 200 examples, whose one hidden label is right",
        "accuracies rounded to two decimals",
        "ReusableHoldout",
        300,
        "holdouts",
        samples.holdout_label,
        raw="exact accuracies",
    ),
    "leaderboard": Play(
        "Climb a leaderboard with random submissions.",
        "share of hidden labels learnt",
        "scores rounded to two decimals",
        "a curator's sums by submission",
        1000,
        "submissions",
        samples.leaderboard,
        raw="exact scores",
    ),
    "low-bits": Play(
        "Read from the low-order bits of one noisy answer which number was noised.",
        "share of answers about 0 that prove it; baseline: of answers about 1 that seem to",
        "textbook noise, rounded to 1/1024",
        "a curator's sums, on their grid",
        2000,
        "answers",
        wards.low_bits,
        raw="textbook noise",
    ),
    "repeated-zero": Play(
        "Ask about a zero until an answer is finer than any other sum can be.",
        "share of zeros that are proved; baseline: of ones that seem to be zeros",
        "textbook noise, rounded to 1/1024",
        "a curator's sums, on their grid, all of them under one budget",
        20,
        "answers about each of 500 numbers",
        wards.repeated_zero,
        raw="textbook noise",
    ),
}
PLAYS = MappingProxyType(_PLAYS)
"""Names as the command line takes them."""


def play(
    name: str,
    against: Against,
    *,
    epsilon: Fraction = Fraction(1),
    effort: int | None = None,
    seed: int = 0,
) -> Outcome:
    """Run one attack.

    Example:
        >>> play("differencing", "raw").success
        1.0
    """
    if name not in PLAYS:
        raise InputError(
            f"there is no attack {name}", why=f"known are: {', '.join(PLAYS)}", fix="name one"
        )
    chosen = PLAYS[name]
    return chosen.run(Setting(against, effort or chosen.effort, epsilon, seed))
