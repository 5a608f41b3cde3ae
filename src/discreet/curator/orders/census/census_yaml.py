"""Plans in YAML, read as texts, lists and mappings alone."""

from typing import Any

import yaml

from discreet.errors import InputError

MOST: int = 64 << 20
"""Characters of a plan."""


class _PlanLoader(yaml.BaseLoader):  # type: ignore[misc] # it has no types
    """Texts, lists and mappings in which each name stands once; no aliases, which can grow."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the parent's
        found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        if len(found) < len(node.value):
            raise yaml.YAMLError
        return found


def read_yaml(text: str) -> dict[str, Any]:
    r"""A mapping, or JSON, which is YAML too; InputError for anything else.

    Every value is read as the text it is written as: NO is Norway, and 1e-6 is exact.

    Example:
        >>> read_yaml("table: people\ntables: {all: [], no: [sex]}\nepsilon: 1e-1")
        {'table': 'people', 'tables': {'all': [], 'no': ['sex']}, 'epsilon': '1e-1'}
    """
    said = None
    try:
        if len(text) <= MOST:
            said = yaml.load(text, Loader=_PlanLoader)  # noqa: S506 - it makes texts alone
    except (yaml.YAMLError, RecursionError, TypeError):  # a list is no name
        pass
    if isinstance(said, dict):
        return said
    raise InputError(
        "a plan that cannot be read",
        why="it is a YAML mapping in which each name stands once",
        fix="write table: people, tables: {total: []}, epsilon: 1",
    )
