"""The forms of what some words of descriptions say, as they are read from YAML.

The words are explained in docs/authors/described-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Required, TypeAlias, TypedDict

from heatlite.engine.resources.rest.calls import CallTemplate, WrittenCall

Names: TypeAlias = list[str | list[str]]    # of properties; those of an inner list count as one


class CheckWords(TypedDict, total=False):
    """An entry of `check`."""

    exclusive: Names
    one_of: Names
    exactly_one: Names
    needs: dict[str, str]
    when: dict[str, object]
    require: list[str]
    forbid: list[str]
    each: str
    ordered: list[str]
    only: dict[str, dict[str, object]]
    message: str


class EntityWords(TypedDict, total=False):
    """The search of a finder: the value of the property `by`, or what `values` has instead of it."""

    by: Required[str]
    values: dict[str | None, str]


class Find(TypedDict, total=False):
    finder: Required[str]
    entity: str | EntityWords


class Fold(TypedDict):
    append_to: str


Live = TypedDict('Live', {
    'each': dict[str, str], 'from': str, 'call': 'WrittenCall | list[WrittenCall]'}, total=False)
"""`each`: name in the property -> field of an item of `from`. `call`: not to be read here."""


class AttributeWords(TypedDict, total=False):
    """The source of an attribute: one of `field`, `data`, `call`, `value`, `hook`. The rest is for operators' types."""

    field: str
    data: str
    json: bool
    otherwise: str
    call: WrittenCall | list[WrittenCall]
    value: object
    hook: str
    type: str
    cached: bool
    description: str


class After(TypedDict, total=False):
    """Other resources that must be there before. `where`: property of the other -> ours."""

    type: Required[str]
    where: dict[str, str]
    hook: str


class Existing(TypedDict, total=False):
    """How one is found that was made already."""

    by: list[str]
    mark: str
    calls: list[WrittenCall]


class Kept(TypedDict, total=False):
    """A value of the answer to a creation that is stored. `when`: a property that must be given."""

    field: str
    when: str
    redact: bool


class Patch(TypedDict, total=False):
    """The operation of a JSON patch, and its type of content."""

    op: str
    type: str


class BeforeDelete(TypedDict):
    """`call` for each item that `each` answers, or of the property, or once."""

    call: tuple[CallTemplate, ...]
    each: tuple[CallTemplate, ...]
    property: str | None


Attributes: TypeAlias = Mapping[str, str | AttributeWords]
