"""Makes Markdown of docstrings for the site: examples become blocks of code."""

import re

from griffe import Extension, Object

PROMPTS = re.compile(r"^([ \t]*)>>> .*?(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)


class Examples(Extension):
    """Fences what starts with a prompt, up to the next empty line."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Rewrite one docstring as it is found."""
        if obj.docstring:
            obj.docstring.value = PROMPTS.sub(
                lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```",
                obj.docstring.value,
            )
