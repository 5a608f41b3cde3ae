"""Makes Markdown of docstrings for the site: sections become paragraphs, examples code."""

import re

from griffe import Extension, Module, Object

SECTION = re.compile(r"(Guarantee|Neighbours|Why|Edge cases|Examples?|Reference):\s*(.*)")
EXPORTED = re.compile(r"^(?:from .* import|   ) (\w+) as \1,?$", re.MULTILINE)
PROMPTS = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)


def markdown(text: str) -> str:
    """A docstring as Markdown."""
    lines, inside = [], False
    for line in text.splitlines():
        if found := SECTION.fullmatch(line):
            lines += ["", f"**{found[1]}.** {found[2]}"]
        else:
            lines.append(line.removeprefix("    ") if inside else line)
        inside = bool(found) or (inside and (not line or line.startswith(" ")))
    return PROMPTS.sub(lambda found: f"\n```pycon\n{found[0]}\n```", "\n".join(lines))


class Markdown(Extension):
    """Rewrites each docstring as it is found."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Rewrite one."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)

    def on_module_members(self, *, mod: Module, **_: object) -> None:
        """Show what a package imports for others, `from home import name as name`."""
        mod.exports = mod.exports or EXPORTED.findall("".join(mod.source)) or None
