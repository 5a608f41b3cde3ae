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
    attacker, or is only where this one is said to have failed. `paper` says who found it.
    """

    title: str
    story: str
    told: str
    without: str
    control: bool
    caution: str
    proved: bool = True
    paper: str = ""

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
        paper="Dinur, Nissim 2003",
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
        paper="Dinur, Nissim 2003; Dwork, Yekhanin 2008",
    ),
    "linear-program": Story(
        "Solve them another way",
        "The same groups and sums, solved by a linear program, as was done to a real system.",
        _GUESSED,
        _COIN,
        control=False,
        caution="Which solver is used hardly matters. " + _FACT,
        paper="Dwork, McSherry, Talwar 2007; Cohen, Nissim 2020 (Diffix)",
    ),
    "robust": Story(
        "Ignore the lies",
        "One answer in five is garbage, as if the system lied now and then. The attacker solves "
        "the sums in a way that wild answers cannot pull off course.",
        _GUESSED,
        _COIN,
        control=False,
        caution="Lying now and then protects nobody. " + _FACT,
        paper="Dwork, McSherry, Talwar 2007",
    ),
    "differencing": Story(
        "Subtract two answers",
        "How many people in this ward are ill? And how many without your neighbour? The difference "
        "of the two answers is your neighbour.",
        "The attacker guessed the secret of {hits} of {n} neighbours right, one in each ward.",
        _COIN,
        control=False,
        caution="Rounding stops this attacker, and not the next one: see Solve the sums.",
        paper="Denning, Denning, Schwartz 1979 (trackers)",
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
        paper="Denning 1980",
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
        paper="Kenthapadi, Mishra, Nissim 2005",
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
        paper="Homer et al. 2008; Dwork et al. 2015",
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
        paper="Narayanan, Shmatikov 2008",
    ),
    "intersection": Story(
        "Two hospitals",
        "Each hospital publishes a table in which everybody looks like a few others. A patient of "
        "both is where two small groups meet.",
        "The attacker guessed the condition of {hits} of {n} patients right, out of 30 conditions.",
        "A blind guess among 30 conditions.",
        control=False,
        caution="Looking like others is not privacy: it says nothing about a second release.",
        paper="Ganta, Kasiviswanathan, Smith 2008",
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
        paper="Garfinkel, Abowd, Martindale 2019; Abowd 2021",
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
        paper="Backstrom, Dwork, Kleinberg 2007",
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
        paper="Carlini et al. 2021",
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
        paper="Dwork, McSherry, Nissim, Smith 2006",
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
        paper="Dwork et al. 2015, The Reusable Holdout",
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
        paper="Dwork et al. 2015",
    ),
    "leaderboard": Story(
        "Climb a leaderboard",
        "Random guesses are submitted, and those that score well are combined. Nobody looks at the "
        "data, yet the hidden labels leak through the scores.",
        "The attacker learnt {hits} of {n} hidden labels.",
        _COIN,
        control=False,
        caution="A high score on a board that was asked too often proves nothing.",
        paper="Blum, Hardt 2015",
    ),
    "low-bits": Story(
        "Read the last digits",
        "Textbook noise is made in floating point, and its last digits have gaps. One answer can "
        "prove that the true count was 0.",
        "{hits} of {n} answers about a zero prove that it was one.",
        "Answers about a one that seem to prove the same.",
        control=True,
        caution="Rounding happens to stop this attacker. Exact noise on a grid is what is proved.",
        paper="Mironov 2012",
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
        paper="Haney, Desfontaines, Hartman, Shrestha, Hay 2022",
    ),
}
STORIES: Mapping[str, Story] = MappingProxyType(_STORIES)
"""By the names of the plays."""


@dataclass(frozen=True, slots=True)
class KnownCase:
    """Something that happened: what, when, and who wrote it down."""

    title: str
    year: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """Attacks that belong together, and what happened to real people."""

    title: str
    lead: str
    cases: tuple[KnownCase, ...]
    plays: tuple[str, ...]


_CHAPTERS = {
    "names": Chapter(
        "Leaving out names",
        "The oldest defence: take the names out and publish the rest. What is left still says who "
        "it is about, to whoever knows a little more.",
        (
            KnownCase(
                "The governor of Massachusetts",
                "1997",
                "The state published hospital visits of its employees without names. For 20 "
                "dollars Latanya Sweeney bought the voter list of Cambridge, joined the two by "
                "date of birth, sex and ZIP code, and had the records of Governor Weld.",
                "Sweeney 2002, k-Anonymity",
            ),
            KnownCase(
                "Netflix",
                "2006 to 2010",
                "100 million ratings by 480,189 subscribers without names were a contest's data. "
                "Eight ratings, two of them wrong, with days off by two weeks, single out 99 of "
                "100 subscribers. A second contest was called off after a lawsuit.",
                "Narayanan, Shmatikov 2008",
            ),
            KnownCase(
                "Fitness maps",
                "2018",
                "Strava drew where its users run: a map of totals, and of nobody. In deserts the "
                "few who ran were soldiers, and the lines were the paths of their bases. Zones "
                "that hide where a run starts gave the homes away too.",
                "Hassan et al. 2018, You Can Run, But Can You Hide?, USENIX Security",
            ),
        ),
        ("linkage", "intersection", "social-graph"),
    ),
    "sums": Chapter(
        "Publishing totals only",
        "Then publish no records at all, only totals and averages. Each is harmless. Enough of "
        "them are equations, and people are the unknowns.",
        (
            KnownCase(
                "The census of 2010",
                "2018",
                "The Census Bureau took its own published tables and solved them: the age, sex, "
                "race and block of 46 of 100 people came out exactly, and of 71 of 100 with the "
                "age a year off. The census of 2020 was published with differential privacy.",
                "Abowd 2021, declaration in Alabama v. Department of Commerce",
            ),
            KnownCase(
                "Genome studies",
                "2008",
                "Averages of genetic markers over the patients of a study tell whether a given "
                "genome was among them. The National Institutes of Health took such averages off "
                "the open web.",
                "Homer et al. 2008, PLoS Genetics 4(8)",
            ),
            KnownCase(
                "A bounty programme",
                "2018",
                "Diffix answered counts with small noise and many rules, and paid whoever broke "
                "it. A linear program rebuilt the data.",
                "Cohen, Nissim 2020, Linear Program Reconstruction in Practice",
            ),
        ),
        (
            "reconstruct",
            "differencing",
            "census",
            "tracing",
            "exponential",
            "linear-program",
            "robust",
        ),
    ),
    "tricks": Chapter(
        "Clever tricks",
        "Refuse what would tell too much, scramble what nobody can read, add noise as a textbook "
        "says, or promise something weaker. Each looks safe until somebody looks.",
        (
            KnownCase(
                "InstaHide",
                "2020",
                "Images were mixed and the signs of their pixels flipped, so that a network could "
                "learn from them and nobody could see them. It won a prize. Within months the "
                "authors' own challenge was broken: the images came back.",
                "Huang et al. 2020; Carlini et al. 2021, Is Private Learning Possible with "
                "Instance Encoding?",
            ),
            KnownCase(
                "The last bits of noise",
                "2012",
                "Libraries drew Laplace noise in floating point. Its last bits have gaps, and the "
                "gaps tell the true count. The noise was right on paper and wrong in the "
                "libraries that he tried.",
                "Mironov 2012, On Significance of the Least Significant Bits",
            ),
        ),
        ("instance-hiding", "refusals", "definitions", "low-bits", "repeated-zero"),
    ),
    "again": Chapter(
        "Asking too often",
        "Noise hides one answer. Ask a hundred times and it averages out, unless somebody keeps "
        "count. The same holds for science: data that are asked too often say what was hoped for.",
        (
            KnownCase(
                "Leaderboards",
                "2015",
                "Contests score submissions on hidden labels. Submissions that look at no data, "
                "combined by their scores, climb to the top and have learnt nothing.",
                "Blum, Hardt 2015, The Ladder",
            ),
        ),
        ("averaging", "holdout", "holdout-label", "leaderboard"),
    ),
}
CHAPTERS: Mapping[str, Chapter] = MappingProxyType(_CHAPTERS)
"""In the order in which they are read; every play is in one of them."""
