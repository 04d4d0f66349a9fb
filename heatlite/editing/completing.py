"""Completion: what may be written at an offset."""

from __future__ import annotations

import enum
import functools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from heatlite.authoring import explaining
from heatlite.common.i18n import _
from heatlite.editing import cursor as cursors
from heatlite.editing import describing, meaning
from heatlite.editing.cursor import CursorContext, TextCursor
from heatlite.editing.meaning import Meaning
from heatlite.editing.outline import ENVIRONMENT, PARAMETER, RESOURCE, Outline
from heatlite.editing.text import TextSpan
from heatlite.engine.resources import packed, packed_types
from heatlite.language import environment, parameter_schema, parameters, rules, versions
from heatlite.language.constraints import AllowedValues
from heatlite.language.definition import RETAIN
from heatlite.language.schema import Schema

RULE_IN_COMMENT: Final = re.compile(r'#\s*heatlite-lint:\s*disable=(?:[\w ]*,)*\s*\w*$')
LONGEST_COMMENT: Final = 1000                   # characters before the offset that are looked at
BOOLEANS: Final = ('true', 'false')
FIRST, NEXT, LAST = '1', '2', '3'               # beginnings of the texts by which editors sort


class ItemKind(enum.Enum):
    """What an item is; editors show a symbol for it."""

    SECTION = 'section'
    TYPE = 'type'
    PROPERTY = 'property'
    FUNCTION = 'function'
    VALUE = 'value'
    NAME = 'name'
    ATTRIBUTE = 'attribute'


@dataclass(frozen=True)
class Item:
    """One completion. `insert`: what replaces the word; `snippet`: the same with a place for the cursor, `$0`."""

    label: str
    kind: ItemKind
    insert: str
    detail: str = ''
    documentation: str = ''
    rank: str = NEXT
    is_deprecated: bool = False
    snippet: str | None = None


@dataclass(frozen=True)
class Completion:
    """The items, and the word that any of them replaces."""

    span: TextSpan
    items: tuple[Item, ...]


def complete(text: str, offset: int, current: Sequence[Outline] = ()) -> Completion:
    """Return what may stand at an offset. `current`: outlines of this text and of earlier ones, for the names in
    them."""
    cursor = cursors.at(text, offset)
    names = Names(text, cursor, current)
    before = text[cursor.line.start:offset]
    if RULE_IN_COMMENT.search(before[-LONGEST_COMMENT:]):
        return Completion(cursor.span,
                          tuple(Item(rule.id, ItemKind.VALUE, rule.id, rule.title) for rule in rules.TABLE))
    found: dict[str, Item] = {}
    keys = {context.path[:-1] for context in cursor.contexts if context.is_key}
    for context in cursor.contexts:
        context.outline.edition = names.outlines[0].edition         # the version may stand further down
        for item in _items(context, cursor, names, is_beside_key=not context.is_key and context.path in keys):
            found.setdefault(item.label, item)
    return Completion(cursor.span, tuple(found.values()))


class Names:
    """The outlines that know the names of a text: its own, that of the text without the line of the cursor, earlier
    ones; the later ones only if the earlier are incomplete.
    """

    def __init__(self, text: str, cursor: TextCursor, current: Sequence[Outline]) -> None:
        self._text, self._line, self._current = text, cursor.line, current

    @functools.cached_property
    def outlines(self) -> list[Outline]:
        found = [self._current[0] if self._current else Outline(self._text)]
        if not found[0].tree.is_whole:
            found.append(Outline(self._text[:self._line.start] + self._text[self._line.end:]))
        return found if found[-1].tree.is_whole else [*found, *self._current[1:]]

    def declared(self, kind: str) -> list[tuple[str, Outline]]:
        """Return the names of a kind, each with the first outline that has it."""
        found: dict[str, Outline] = {}
        for outline in self.outlines:
            for name in outline.declared(kind):
                found.setdefault(name, outline)
        return list(found.items())

    def owner(self, resource: str) -> Outline:
        """Return the outline that knows the type of a resource."""
        return next((outline for outline in self.outlines if outline.type_of(resource) is not None), self.outlines[0])


def _items(context: CursorContext, cursor: TextCursor, names: Names, *, is_beside_key: bool) -> Iterator[Item]:
    outline = context.outline
    if names.outlines[0].kind == ENVIRONMENT:
        yield from _of_environment(context, cursor)
        return
    if context.is_key:
        taken = {key.value for key, _value in getattr(outline.tree.at(context.path[:-1]), 'entries', ())}
        found = meaning.of(outline, context.path, is_key=True)
        for item in _keys(found, outline, cursor):
            if item.label not in taken:
                yield item
        if found.may_call and len(taken) == 1:
            yield from _calls(outline, found, cursor, is_key=True)
        return
    found = meaning.of(outline, context.path, is_key=False)
    yield from _values(found, outline, names)
    if found.may_call and not is_beside_key and not cursor.is_quoted and not cursor.word.endswith(':'):
        yield from _calls(outline, found, cursor, is_key=False)


# --- keys -----------------------------------------------------------------------------------------------------------

def _keys(found: Meaning, outline: Outline, cursor: TextCursor) -> Iterator[Item]:
    edition = outline.edition
    match found.what:
        case meaning.SECTION:
            scalars = (edition.key, edition.keys.description)
            yield from (_key(name, ItemKind.SECTION, cursor, is_open=name not in scalars)
                        for name in (edition.key, *edition.sections.values()))
        case meaning.PARAMETER_KEY:
            names = parameter_schema.HOT_DEFINITION if edition.is_hot else parameter_schema.CFN_DEFINITION
            yield from (_key(name, ItemKind.PROPERTY, cursor, rank=FIRST if name in ('type', 'Type') else NEXT)
                        for name in sorted(names))
        case meaning.RESOURCE_KEY:
            yield from (_key(name, ItemKind.PROPERTY, cursor, is_open=name == edition.keys.properties,
                             rank=FIRST if name == edition.keys.type else NEXT)
                        for name in sorted(edition.keys.of_resources) if _is_known(outline, name))
        case meaning.OUTPUT_KEY:
            keys = edition.keys
            yield from (_key(name, ItemKind.PROPERTY, cursor, rank=FIRST if name == keys.output_value else NEXT)
                        for name in (keys.output_value, keys.description, keys.condition) if _is_known(outline, name))
        case meaning.PROPERTY if found.schemas is not None and found.type_name is not None:
            for name, schema in found.schemas.items():
                if schema.implemented:
                    yield _property(name, schema, found, cursor)


def _is_known(outline: Outline, key: str) -> bool:
    return key != outline.edition.keys.condition or outline.edition.has_conditions


def _property(name: str, schema: Schema, found: Meaning, cursor: TextCursor) -> Item:
    status = schema.support_status
    path = (*found.path[:-1], name)
    is_of_type = found.type_name is not None and path[0] in packed.properties(found.type_name)
    text = (describing.of_property(schema, found.type_name or '', path) if is_of_type
            else describing.of_policy(schema, name))
    words = [explaining.kind(schema), *([_('required')] if schema.required else []),
             *([status.status.lower()] if status.status != 'SUPPORTED' else [])]
    item = _key(name, ItemKind.PROPERTY, cursor, is_open=schema.type in (Schema.MAP, Schema.LIST),
                rank=FIRST if schema.required else LAST if status.status != 'SUPPORTED' else NEXT)
    return replace(item, detail=', '.join(words), documentation=text,
                   is_deprecated=status.status in ('DEPRECATED', 'HIDDEN', 'UNSUPPORTED'))


def _key(name: str, kind: ItemKind, cursor: TextCursor, *, is_open: bool = False, rank: str = NEXT) -> Item:
    """`is_open`: what follows is a map or list, which begins in the next line."""
    insert = name if cursor.has_colon or cursor.is_quoted else f'{name}:' if is_open else f'{name}: '
    return Item(name, kind, insert, rank=rank)


# --- values ---------------------------------------------------------------------------------------------------------

def _values(found: Meaning, outline: Outline, names: Names) -> Iterator[Item]:
    edition = outline.edition
    match found.what:
        case meaning.VERSION:
            dates = [*reversed(versions.HOT_DATES), *versions.ALIASES] if edition.is_hot else [edition.date]
            yield from (Item(date, ItemKind.VALUE, date if edition.is_hot else f"'{date}'") for date in dates)
        case meaning.TYPE:
            yield from types()
        case meaning.PARAMETER_TYPE:
            kinds = parameter_schema.HOT_KINDS if edition.is_hot else parameter_schema.CFN_KINDS
            yield from (Item(kind, ItemKind.VALUE, kind) for kind in kinds)
        case meaning.DELETION_POLICY:
            known = packed_types.facts_of(found.type_name).deletion_policies if found.type_name else ()
            yield from (Item(policy, ItemKind.VALUE, policy) for policy in sorted({*known, RETAIN}))
        case meaning.NAME:
            yield from _names(found, outline, names)
        case meaning.ATTRIBUTE:
            owner = names.owner(found.resource)
            for name, body in meaning.attributes(owner, found.resource).items():
                yield Item(name, ItemKind.ATTRIBUTE, name, body.get('type') or '', describing.of_attribute(name, body))
        case meaning.VALUE if found.schema is not None:
            yield from of_schema(found.schema)
        case meaning.VALUE if found.name in ('hidden', 'immutable', 'NoEcho'):
            yield from (Item(word, ItemKind.VALUE, word) for word in BOOLEANS)


def of_schema(schema: Schema) -> Iterator[Item]:
    """Yield the allowed values of a property; those of booleans."""
    if schema.type == Schema.BOOLEAN:
        yield from (Item(word, ItemKind.VALUE, word, rank=FIRST) for word in BOOLEANS)
    for constraint in schema.constraints:
        if isinstance(constraint, AllowedValues):
            for value in constraint.allowed:
                word = value if isinstance(value, str) else json.dumps(value)
                is_default = value == schema.default
                yield Item(word, ItemKind.VALUE, word, _('default') if is_default else '', rank=FIRST)


def _names(found: Meaning, outline: Outline, names: Names) -> Iterator[Item]:
    for kind in found.kinds:
        for name, owner in names.declared(kind):
            if kind == RESOURCE and name == found.resource:
                continue
            detail = (owner.type_of(name) if kind == RESOURCE else None) or kind
            yield Item(name, ItemKind.NAME, name, detail, describing.of_declared(owner, kind, name), FIRST)
        if kind == PARAMETER and found.name:
            made = parameters.pseudo_parameters(outline.edition, name='', stack_id=None, project_id='', arn='')
            yield from (Item(name, ItemKind.NAME, name, _('of the stack'), rank=LAST) for name in made)


def types() -> Iterator[Item]:
    """All built-in types; deprecated and hidden ones are marked and come last."""
    for name in packed.names():
        status = packed.facts(name)['support_status']
        is_hidden, word = status.get('hidden', False), status.get('status', 'SUPPORTED')
        is_old = is_hidden or word not in ('SUPPORTED', 'UNKNOWN')
        yield Item(name, ItemKind.TYPE, name, 'hidden' if is_hidden else word.lower() if is_old else '',
                   rank=LAST if is_old else NEXT, is_deprecated=is_old)


def _calls(outline: Outline, found: Meaning, cursor: TextCursor, *, is_key: bool) -> Iterator[Item]:
    table: Iterable[str] = outline.edition.condition_functions if found.is_condition else outline.edition.usable
    for name in table:
        text = describing.of_function(outline, name)
        if is_key:
            yield replace(_key(name, ItemKind.FUNCTION, cursor, rank=LAST), documentation=text)
        else:
            yield Item(name, ItemKind.FUNCTION, f'{{{name}: ', documentation=text, rank=LAST, snippet=f'{{{name}: $0}}')


# --- environments ---------------------------------------------------------------------------------------------------

def _of_environment(context: CursorContext, cursor: TextCursor) -> Iterator[Item]:
    if context.is_key and len(context.path) == 1:
        taken = {key.value for key, _value in getattr(context.outline.tree.root, 'entries', ())}
        yield from (_key(name, ItemKind.SECTION, cursor, is_open=True) for name in environment.SECTIONS
                    if name not in taken)
    elif context.path[0] == environment.REGISTRY and len(context.path) == 2:
        for item in types():
            yield replace(item, insert=f'"{item.label}": ') if context.is_key and not (
                cursor.has_colon or cursor.is_quoted) else item

