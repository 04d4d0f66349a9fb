"""Inspects the members of a group: names, references, attributes.

Works on any resource that owns a nested stack. Members are in the order of their age, failed ones first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from heatlite.common import exception
from heatlite.common.i18n import _

BEGINNING = datetime(1, 1, 1)



class MemberRow(Protocol):
    """What is used of the stored row of a member."""

    @property
    def id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def action(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def created_at(self) -> datetime | None: ...

    @property
    def replaced_by(self) -> int | None: ...


class GroupMember(Protocol):
    """What is used of a member: a resource."""

    @property
    def name(self) -> str: ...

    @property
    def FnGetAtt(self) -> Callable[..., object]: ...

    def FnGetRefId(self) -> object: ...


class GroupTemplate(Protocol):
    """What is used of the template of a nested stack."""

    def section(self, name: str, /) -> Mapping[str, Mapping[str, object]] | None: ...


class GroupStack(Protocol):
    """What is used of the nested stack of a group; its members are resources."""

    @property
    def t(self) -> GroupTemplate: ...

    def __getitem__(self, name: str, /) -> GroupMember: ...

    def __contains__(self, name: object, /) -> bool: ...


class GroupDefinition(Protocol):
    """What is used of the definition of a stack."""

    @property
    def files(self) -> object: ...


class DefinedStack(Protocol):
    """A stack with a definition."""

    @property
    def defn(self) -> GroupDefinition: ...


class GroupResource(Protocol):
    """What is used of a resource that owns a nested stack."""

    name: str

    def member_rows(self) -> Sequence[MemberRow]: ...

    def nested(self) -> GroupStack | None: ...


class GroupInspector:
    """The members of one group, read once."""

    def __init__(self, group: GroupResource) -> None:
        self._group = group
        self._rows: list[MemberRow] | None = None

    @classmethod
    def from_parent_resource(cls, parent_resource: GroupResource) -> GroupInspector:
        return cls(parent_resource)

    def rows(self, include_failed: bool) -> list[MemberRow]:
        """One row for each member: the current row of its name."""
        if self._rows is None:
            best: dict[str, MemberRow] = {}
            for row in self._group.member_rows():
                if row.action == 'DELETE':
                    continue
                known = best.get(row.name)
                if known is None or _rank(row) > _rank(known):
                    best[row.name] = row
            self._rows = sorted(best.values(), key=lambda row: (
                row.status != 'FAILED', row.created_at or BEGINNING, row.name))
        return [row for row in self._rows if include_failed or row.status != 'FAILED']

    def size(self, include_failed: bool) -> int:
        return len(self.rows(include_failed))

    def member_names(self, include_failed: bool) -> Iterator[str]:
        return (row.name for row in self.rows(include_failed))

    def template(self) -> GroupTemplate | None:
        """Return the current template of the nested stack; None when there is no stack."""
        nested = self._group.nested()
        return nested.t if nested is not None else None


def _rank(row: MemberRow) -> tuple[bool, int]:
    """Return a key for sorting: a replaced row ranks below its replacement."""
    return row.replaced_by is None, row.id


def get_size(group: GroupResource, include_failed: bool = False) -> int:
    return GroupInspector(group).size(include_failed)


def get_members(group: GroupResource, include_failed: bool = False) -> list[GroupMember]:
    """Return the members as resource objects."""
    nested = group.nested()
    if nested is None:
        return []
    return [nested[name] for name in GroupInspector(group).member_names(include_failed) if name in nested]


def get_member_refids(group: GroupResource) -> list[object]:
    return [member.FnGetRefId() for member in get_members(group)]


def get_member_names(group: GroupResource) -> list[str]:
    return list(GroupInspector(group).member_names(include_failed=False))


def get_member_definitions(group: GroupResource,
                           include_failed: bool = False) -> list[tuple[str, Mapping[str, object]]]:
    """Return the members as (name, definition in the template)."""
    inspector = GroupInspector(group)
    template = inspector.template()
    known = (template.section('resources') or {}) if template is not None else {}
    return [(name, known[name]) for name in inspector.member_names(include_failed) if name in known]


def get_child_template_files(context: object, stack: DefinedStack, is_rolling_update: bool,
                             old_template_id: str) -> object:
    return stack.defn.files


def get_nested_attrs(stack_resource: GroupResource, key: str, use_indices: bool, *path: object) -> object:
    """Resolve `resource.<member>` and `resource.<member>.<attribute>`; None before there is a nested stack.

    `use_indices`: the member is given by its index, by age, failed ones not counted. Raises NotFound.
    """
    _word, name, *attribute = key.split('.', 2)
    wanted = (*attribute, *path)
    if wanted:
        return get_rsrc_attr(stack_resource, key, use_indices, name, *wanted)
    return get_rsrc_id(stack_resource, key, use_indices, name)


def get_rsrc_id(stack_resource: GroupResource, key: str, use_indices: bool, resource_name: str) -> object:
    member = _member(stack_resource, use_indices, resource_name)
    return member.FnGetRefId() if member is not None else None


def get_rsrc_attr(stack_resource: GroupResource, key: str, use_indices: bool, resource_name: str,
                  *attr_path: object) -> object:
    member = _member(stack_resource, use_indices, resource_name)
    return member.FnGetAtt(*attr_path) if member is not None else None


def _member(group: GroupResource, use_indices: bool, name: str) -> GroupMember | None:
    nested = group.nested()
    if nested is None:
        return None
    try:
        if use_indices:
            return get_members(group)[int(name)]
        return nested[name]
    except (IndexError, ValueError, KeyError):
        raise exception.NotFound(_("Member '%(mem)s' not found in group resource '%(grp)s'.")
                                 % {'mem': name, 'grp': group.name}) from None
