"""The plays in plain words: what the attacker does, what came of it, and what that leaves open."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from discreet.attacks.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Story:
    """One attack told to somebody who has never heard of it.

    `told` takes `hits` and `n`. `without` says what the baseline is; `control` whether it was
    measured on people who are not in the data (or answers that hold nothing), by the same attacker.
    `caution` is what the figures do not show. `proved` says whether the bound holds for every
    attacker, or is only where this one is said to have failed.
    """

    title: str
    story: str
    told: str
    without: str
    control: bool
    caution: str
    proved: bool = True

    def sentence(self, outcome: Outcome) -> str:
        """What came of it, in whole people."""
        hits = round(outcome.success * outcome.n)
        return self.told.format(hits=f"{hits:,}", n=f"{outcome.n:,}")


_GUESSED = "The attacker guessed the secret of {hits} of {n} people right."
_COIN = "A coin would guess half of the secrets right."
_FACT = "Counts about many people stay useful: what hides is each person, not the population."

_STORIES = {
    "exponential": Story(
        "Try every combination",
        "Twelve people, one secret bit each. The attacker asks about random groups, writes down "
        "all 4,096 possible combinations of secrets, and weighs each by how well it fits.",
        _GUESSED,
        _COIN,
        control=False,
        caution="Few people can be tried by brute force. The next attacks need no such patience.",
    ),
    "reconstruct": Story(
        "Solve the sums",
        "Each answer says how many people of a group have the secret. Many such sums are a "
        "system of equations with one unknown a person, and least squares solves it.",
        _GUESSED,
        _COIN,
        control=False,
        caution="Rounding is no defence: errors well below the root of the number of people do "
        "not hide anybody. " + _FACT,
    ),
    "linear-program": Story(
        "Solve them another way",
        "The same groups and sums, solved by a linear program, as was done to a real system.",
        _GUESSED,
        _COIN,
        control=False,
        caution="Which solver is used hardly matters. " + _FACT,
    ),
    "robust": Story(
        "Ignore the lies",
        "One answer in five is garbage, as if the system lied now and then. The attacker solves "
        "the sums in a way that wild answers cannot pull off course.",
        _GUESSED,
        _COIN,
        control=False,
        caution="Lying now and then protects nobody. " + _FACT,
    ),
    "differencing": Story(
        "Subtract two answers",
        "How many people in this ward are ill? And how many without your neighbour? The difference "
        "of the two answers is your neighbour.",
        "The attacker guessed the secret of {hits} of {n} neighbours right, one in each ward.",
        _COIN,
        control=False,
        caution="Rounding stops this attacker, and not the next one: see Solve the sums.",
    ),
    "averaging": Story(
        "Ask again and again",
        "If every repeat of a question gets fresh noise, the noise averages out. The attacker "
        "knows everybody in the ward but one and repeats one question.",
        "The attacker guessed the secret of {hits} of {n} people right, one in each ward.",
        _COIN,
        control=False,
        caution="Noise alone is not enough. Somebody has to keep count of what was given away; "
        "here repeats are free because they are identical.",
    ),
    "refusals": Story(
        "Listen to what is refused",
        "An auditor answers exactly, but refuses any answer that would tell somebody's secret. "
        "When it refuses is no secret: the attacker tries which secrets would make it refuse so.",
        _GUESSED,
        _COIN,
        control=False,
        caution="An auditor whose refusals tell nothing must refuse by the questions alone, and "
        "then refuses nearly all of them.",
    ),
    "tracing": Story(
        "Who was in the study?",
        "A study publishes a thousand averages about a hundred patients. The attacker has "
        "somebody's thousand traits and asks whether the averages lean towards them.",
        "The attacker recognised {hits} of {n} patients.",
        "The bar is set so that 1 in 100 strangers to the study is taken for a patient.",
        control=True,
        caution="That the study found a thousand averages is public and stays useful; only who "
        "took part is hidden.",
    ),
    "linkage": Story(
        "Recognise a viewer",
        "Names were removed from film ratings. The attacker knows eight ratings of somebody, two "
        "of them wrong and the days off by two weeks, and looks for the rest of their ratings. "
        "From a curator they ask how many viewers have these ratings and that one more.",
        "The attacker learnt one more rating of {hits} of {n} people.",
        "The same attacker, with as much knowledge, about people who are not in the data at all.",
        control=True,
        caution="A curator answers such a question, and one noisy answer tells little. A match by "
        "itself is no evidence: look at how many strangers are recognised.",
    ),
    "intersection": Story(
        "Two hospitals",
        "Each hospital publishes a table in which everybody looks like a few others. A patient of "
        "both is where two small groups meet.",
        "The attacker guessed the condition of {hits} of {n} patients right, out of 30 conditions.",
        "A blind guess among 30 conditions.",
        control=False,
        caution="Looking like others is not privacy: it says nothing about a second release.",
    ),
    "census": Story(
        "Rebuild a block",
        "Seven people live in a block. Counts, medians and means of its larger groups are "
        "published; the attacker searches for every set of seven people that has exactly these. "
        "From a curator they take the counts of every age and kind, and name the ten highest.",
        "The attacker rebuilt {hits} of {n} people exactly: age, sex, race and marital status.",
        "A person drawn blindly.",
        control=False,
        caution="Seven people are too few: a private answer about them hides everybody and is of "
        "no use either. Ask about larger places. And the chance counts ten names, right or wrong.",
    ),
    "social-graph": Story(
        "Find your friends",
        "A network is published without names. The attacker has planted a few accounts with odd "
        "friendships, recognises their shape, and from there the people whom they befriended.",
        "The attacker told right of {hits} of {n} pairs of people whether they are friends.",
        "A coin would tell half of the pairs right.",
        control=False,
        caution="The promise is about one friendship: somebody with many friends is hidden less. "
        "Names were removed from the private network too.",
    ),
    "instance-hiding": Story(
        "Unmix the images",
        "Images are mixed two by two, the sign of every pixel is flipped by coins, and nobody says "
        "who was mixed. The attacker drops the signs, sees which mixtures are alike, and solves.",
        "The attacker told right of {hits} of {n} images whether they are bright.",
        "A coin would tell half of the images right.",
        control=False,
        caution="What looks like noise to the eye need not hide anything. Images here are made up "
        "and mixed by twos; the published attack unmixed real ones.",
    ),
    "definitions": Story(
        "Keep a bad promise",
        "One release publishes a random record: no single person is likely to be hit. Another "
        "publishes everybody with a small chance. Both keep a promise, and both expose somebody.",
        "In {hits} of {n} releases somebody's code was told right.",
        "A blind guess among 100 codes.",
        control=False,
        caution="A small chance for each is a large chance for somebody. A promise has to bound "
        "every event by its probability without you.",
    ),
    "holdout": Story(
        "Wear out a holdout",
        "Nothing in these data can be learnt: labels are coins. The analyst picks features that do "
        "well on the holdout, then asks the holdout how good the result is.",
        "The holdout reports that {hits} of {n} labels are predicted right.",
        "The truth, measured on fresh data.",
        control=True,
        caution="This is not about anybody's privacy: the same tool keeps science honest. The "
        "limit drawn is the truth plus 5 in 100, and no theorem.",
        proved=False,
    ),
    "holdout-label": Story(
        "Make a holdout speak",
        "The attacker knows every example of a holdout but one label, and asks a question that the "
        "training data cannot answer. From the holdout's own answer they subtract what they know.",
        "The attacker read the hidden label of {hits} of {n} holdouts right.",
        "A coin would guess half of the labels right.",
        control=False,
        caution="A holdout that seldom speaks is hard to wear out, noise or none. Noise is what "
        "hides its examples when it does speak.",
    ),
    "leaderboard": Story(
        "Climb a leaderboard",
        "Random guesses are submitted, and those that score well are combined. Nobody looks at the "
        "data, yet the hidden labels leak through the scores.",
        "The attacker learnt {hits} of {n} hidden labels.",
        _COIN,
        control=False,
        caution="A high score on a board that was asked too often proves nothing.",
    ),
    "low-bits": Story(
        "Read the last digits",
        "Textbook noise is made in floating point, and its last digits have gaps. One answer can "
        "prove that the true count was 0.",
        "{hits} of {n} answers about a zero prove that it was one.",
        "Answers about a one that seem to prove the same.",
        control=True,
        caution="Rounding happens to stop this attacker. Exact noise on a grid is what is proved.",
    ),
    "repeated-zero": Story(
        "Catch a zero",
        "Near zero, floating-point numbers are finer than anywhere else. An answer that fine can "
        "only come from a true zero; the attacker asks until one appears.",
        "{hits} of {n} zeros were proved.",
        "Ones that seem to be zeros.",
        control=True,
        caution="Even perfect noise tells when it is added in floating point; here sums are whole "
        "numbers on a grid.",
    ),
}
STORIES: Mapping[str, Story] = MappingProxyType(_STORIES)
"""By the names of the plays."""
