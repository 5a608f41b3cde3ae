"""Names that people cannot tell apart, by Unicode's table of confusable characters."""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final

# What shows nothing besides control and format characters: joiners, fillers, variation selectors.
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_DOTTED: Final = re.compile("(?<=[ij\u0131\u0456\u0458])\u0307")  # a dot on a letter that has one
_MARK: Final = "\u200e"  # the package sets right-to-left characters between two of these


def confusable(one: str, other: str) -> bool:
    """Whether two names read alike: except case, width, look-alikes and invisible characters.

    Example:
        >>> confusable("alice", "\u0410l\u0131ce"), confusable("alice", "AIice")
        (True, True)
        >>> confusable("visits", "\uff36is\u200bits"), confusable("visits", "visit")
        (True, False)
    """
    return any(a == b for a, b in zip(skeletons(one), skeletons(other), strict=True))


@lru_cache(maxsize=1 << 14)
def skeletons(name: str) -> tuple[str, str, str]:
    """A name as it is read without its case, as it is seen, and as what is seen is read.

    Names are confusable if they agree in one of the three.

    Why: a capital I is an i where case does not count, and looks like l where it does. Among
    capitals alone it is not mistaken for an L: IA is not LA.

    Reference: Unicode Technical Standard 39, section 4.
    """
    shown = _visible(name)
    seen = _skeleton(shown)
    without_case = _skeleton(unicodedata.normalize("NFKC", shown).casefold())
    return without_case, seen, seen if shown.isupper() else _skeleton(seen.casefold())


def _visible(text: str) -> str:
    shown = (c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf"))
    return " ".join(_BLANK.sub("", "".join(shown)).split())


def _skeleton(text: str) -> str:
    for form in ("NFC", "NFD"):  # the table has letters with their accents, and accents
        text = unicodedata.normalize(form, _DOTTED.sub("", text).translate(_prototypes()))
    return unicodedata.normalize("NFKC", text.translate(_prototypes()))


@cache
def _prototypes() -> dict[int, str]:
    """The character, or characters, that represent each class of confusable ones.

    The package lists pairs in both directions, and all pairs of a class have its prototype in them.
    """
    from confusable_homoglyphs.confusables import confusables_data  # noqa: PLC0415 - 1 MB

    pairs = {
        _plain(one): [_plain(other["c"]) for other in others]
        for one, others in confusables_data.items()
    }
    found: dict[int, str] = {}
    for one, others in pairs.items():
        prototype = max((one, *others), key=lambda text: (len(text), len(pairs[text]), text))
        if len(one) == 1:
            found[ord(one)] = prototype
    return found


def _plain(text: str) -> str:
    return text.replace(_MARK, "")
