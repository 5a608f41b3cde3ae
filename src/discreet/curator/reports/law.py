"""What laws and guidelines ask of whoever publishes about people, and what a curator can show.

Each row: where it stands, what it asks, what the curator shows (filled with facts of the dossier),
and what stays with the owner. None of this is legal advice, and none of it is a certificate.
"""

from typing import Final, NamedTuple


class Rule(NamedTuple):
    """One demand; `shown` takes the facts of a dossier by name."""

    where: str
    asks: str
    shown: str
    left: str


class Framework(NamedTuple):
    """A law or a guideline."""

    name: str
    source: str
    rules: tuple[Rule, ...]


FRAMEWORKS: Final = (
    Framework(
        "GDPR",
        "Regulation (EU) 2016/679",
        (
            Rule(
                "Recital 26",
                "Whether somebody can be identified by all means reasonably likely to be used.",
                "A bound on what any means, known or not, can find out: {promises}.",
                "Whether answers under this bound are anonymous is for you and your authority to "
                "decide. The data that the curator holds are personal data.",
            ),
            Rule(
                "Article 5(1)(b), 89(1)",
                "Use for stated purposes; safeguards where these are statistics.",
                "Only noisy aggregates leave; {questions} questions are on record with who asked.",
                "State the purpose, and hold questions against it.",
            ),
            Rule(
                "Article 5(1)(c)",
                "No more data than needed.",
                "What one person adds is limited: {limits}.",
                "Which columns to load at all.",
            ),
            Rule(
                "Article 5(2), 30",
                "Show that you comply; keep records.",
                "{entries} entries in a chain of hashes; read again just now: {whole}.",
                "Records of processing outside this system.",
            ),
            Rule(
                "Article 25",
                "Protection by design and by default.",
                "A question that does not fit the budget is refused before data is read.",
                "The choice of budgets and of the unit.",
            ),
            Rule(
                "Article 15 to 17",
                "Access and erasure for the people concerned.",
                "Where people have budgets of their own: a statement for each, and removal from "
                "all later answers.",
                "Requests, and erasure from your own files. Answers given stay given.",
            ),
            Rule(
                "Article 35",
                "An assessment of the impact, with the risk that remains.",
                "The risk in odds, under What is promised.",
                "The assessment; raw data, staff and machines are part of it.",
            ),
        ),
    ),
    Framework(
        "HIPAA",
        "45 CFR Part 164",
        (
            Rule(
                "164.514(b)(1)",
                "Expert determination: the risk of identification is very small, with methods and "
                "results documented.",
                "Method: differential privacy, {units}. Result: {promises}. {audit}",
                "The expert, and their judgement of what is very small.",
            ),
            Rule(
                "164.514(b)(2)",
                "Safe harbour: 18 kinds of identifiers removed.",
                "Not used: answers name nobody, and names, dates and ZIP codes that you list as "
                "keys are public as you list them.",
                "List no identifier as a key.",
            ),
            Rule(
                "164.502(b), 164.514(d)",
                "The minimum necessary.",
                "Analysts see answers and never rows; {analysts} have asked.",
                "Who gets a token, and for which datasets.",
            ),
            Rule(
                "164.312(b)",
                "Audit controls over what is done with health information.",
                "Every charge before its answer, {entries} entries, head {head}.",
                "Controls on the machine that holds the files.",
            ),
        ),
    ),
    Framework(
        "FERPA",
        "20 U.S.C. 1232g; 34 CFR Part 99",
        (
            Rule(
                "99.31(b)(1)",
                "A reasonable determination that no student can be identified, through single or "
                "multiple releases, with other reasonably available information.",
                "Releases add up under one budget for ever: {promises}; spent: {spent}. It holds "
                "whatever else is known.",
                "The determination itself.",
            ),
            Rule(
                "99.3",
                "Nothing linkable to a student by a reasonable person in the school community.",
                "The bound holds for neighbours and classmates too; small groups get answers "
                "that are mostly noise.",
                "Do not publish exact totals of the same groups elsewhere.",
            ),
            Rule(
                "99.32",
                "A record of disclosures of education records.",
                "None leave; the ledger has all {questions} questions about them.",
                "Disclosures outside this system.",
            ),
        ),
    ),
    Framework(
        "NIST SP 800-226",
        "Guidelines for Evaluating Differential Privacy Guarantees, March 2025",
        (
            Rule("Privacy parameters", "Epsilon and delta, stated.", "{promises}.", "Why so much."),
            Rule(
                "Unit of privacy",
                "Who or what is protected, and which neighbours.",
                "{units}.",
                "That the column really names people.",
            ),
            Rule(
                "Composition",
                "All releases are counted together.",
                "Spent so far: {spent}. A filter guards adaptively chosen questions.",
                "Datasets about the same people have to be linked, or their losses add up.",
            ),
            Rule(
                "Algorithms and correctness",
                "Mechanisms without flaws of implementation, such as floating point.",
                "Exact integer noise from a cryptographic stream. {audit}",
                "Run `discreet audit` on your own machine.",
            ),
            Rule(
                "Utility and bias",
                "How wrong answers are, and for whom.",
                "Each answer has an interval; relative error is largest for small groups.",
                "Whether small groups are served fairly.",
            ),
            Rule(
                "Security and trust",
                "Access control, side channels, and who sees raw data.",
                "The curator is trusted and sees all data. Reply times are held to a grid; the "
                "limits of that are in the documentation.",
                "Disks, backups, keys, people with access, and how data were collected.",
            ),
        ),
    ),
)
