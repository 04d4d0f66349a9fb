"""The description of one collection of a service: what most of them differ in, as data."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class States:
    """How things of a kind get ready by themselves."""

    field: str = 'status'
    # verb (create, update, delete) -> state while at work; a verb that is not there is done at once
    busy: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ready: Any = 'ACTIVE'                                       # a state, or one for each verb; null: as it was
    failed: Any = 'ERROR'                                       # a state, or one for each verb
    reason: str | None = None                                   # field for the text of a failure
    seconds: str = 'work'                                       # name of the delay; see settings.Delays
    # state -> other fields that are set with it
    also: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)


    def ready_after(self, verb: str) -> str | None:
        return self.ready.get(verb) if isinstance(self.ready, dict) else self.ready

    def failed_after(self, verb: str) -> str:
        return str(self.failed.get(verb, 'ERROR') if isinstance(self.failed, dict) else self.failed)


@dataclasses.dataclass(frozen=True)
class Kind:
    """One collection. `{x}` in `path` is the id of a parent, of the kind `parents` names for it."""

    name: str                                       # of the table; unique in its service
    path: str
    key: str | None = None                          # around one thing in a body; '' : none
    bare_request: bool = False                      # `key` is in answers only
    plural: str | None = None                       # around many; '': a bare list
    answer: tuple[str, ...] = ()                    # of a create: these fields only
    by_name: bool = False                           # a path may hold the name in place of the id
    noun: str | None = None                         # in messages
    id: str = 'id'                                  # the field that is the id
    id_form: str = 'dashed'                         # dashed | hex | name (the id is the name) | given (or made)
    verbs: str = 'LCRUD'
    update: tuple[str, ...] = ('PUT',)
    patch: bool = False                             # PATCH is a list of operations (RFC 6902)
    codes: Mapping[str, int] = dataclasses.field(default_factory=dict)      # create, update, delete
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)     # with their defaults
    stamps: Mapping[str, str] = dataclasses.field(default_factory=dict)     # field -> created | updated; the
    # latter is set from the start unless it is among `fields`, with its default
    stamp_form: str = '%Y-%m-%dT%H:%M:%SZ'
    required: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()                   # further fields a request may hold, when strict
    strict: bool = False                            # fields not named here are refused
    readonly: tuple[str, ...] = ()                  # refused in requests
    fixed: tuple[str, ...] = ()                     # refused in updates
    no_nulls: bool = False                          # null is refused for fields that have a default, but for `nulls`
    nulls: tuple[str, ...] = ()
    never_null: tuple[str, ...] = ()                # refused for these although they have no default
    unique: tuple[str, ...] = ()                    # within a project, or everywhere for things without
    within: tuple[str, ...] = ()                    # and among those with equal values of these
    refs: Mapping[str, str] = dataclasses.field(default_factory=dict)       # field -> kind it is the id of
    bad_ref: int = 404
    held_by: tuple[str, ...] = ()                   # kind.field: no delete while one points here
    parents: Mapping[str, str] = dataclasses.field(default_factory=dict)    # name in path -> kind
    scope: str = 'project'                          # project | none
    owner: tuple[str, ...] = ('project_id', 'tenant_id')        # fields that show the project
    visible: Mapping[str, Any] = dataclasses.field(default_factory=dict)    # field -> value: others see it too
    see_all: bool = False                           # an admin's list holds everything, not only when asked
    admin: str = ''                                 # verbs (letters of `verbs`) for admins only
    states: States | None = None
    quota: str | None = None
    index: tuple[str, ...] = ()

    @property
    def collection_key(self) -> str:
        return self.plural if self.plural is not None else self.path.rsplit('/', 1)[-1].replace('-', '_')

    @property
    def item_key(self) -> str | None:
        if self.key is not None:
            return self.key or None
        return singular(self.collection_key)

    @property
    def request_key(self) -> str | None:
        return None if self.bare_request else self.item_key

    def takes_null(self, field: str) -> bool:
        if field in self.never_null:
            return False
        return not self.no_nulls or self.fields.get(field) is None or field in self.nulls

    @property
    def title(self) -> str:
        return self.noun or (singular(self.collection_key)).replace('_', ' ').capitalize()

    def blank(self) -> dict[str, Any]:
        """A new thing's fields with their defaults, nothing shared with another's."""
        data = dict(self.fields)
        for name in self._changeable:
            data[name] = data[name].copy()
        return data

    @functools.cached_property
    def _changeable(self) -> tuple[str, ...]:
        return tuple(name for name, value in self.fields.items() if isinstance(value, list | dict))


def singular(word: str) -> str:
    if word.endswith('ies'):
        return word[:-3] + 'y'
    return word[:-1] if word.endswith('s') else word


TUPLES = {each.name for each in dataclasses.fields(Kind) if str(each.type).startswith('tuple')}


def parse(name: str, said: Mapping[str, Any], inherited: Mapping[str, Any]) -> Kind:
    """A kind from its entry in a service's file; maps of `inherited` are merged, other values (and by {} too)
    replaced.

    Raises TypeError for a word that means nothing.
    """
    entry: dict[str, Any] = {'path': f'/{name}', **inherited}
    for word, value in (said or {}).items():
        word = word.replace('-', '_')
        above = inherited.get(word)
        if value and isinstance(value, dict) and isinstance(above, dict) and word != 'states':
            entry[word] = {**above, **value}
        else:
            entry[word] = value
    for word in TUPLES & entry.keys():
        value = entry[word]
        entry[word] = tuple(value.split()) if isinstance(value, str) else tuple(value)
    if entry.get('states'):
        entry['states'] = States(**entry['states'])
    entry['fields'] = dict(entry.get('fields') or {})
    return Kind(name=name, **entry)
