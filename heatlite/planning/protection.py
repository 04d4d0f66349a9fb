"""Protections: what may not be done to a stack or to resources of its tree, whether a user, a signal, autoscaling or
a rollback asks for it.

A protection holds for the resource at its path and for everything inside the resource's nested stack.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

from heatlite.common import name_patterns, turns
from heatlite.planning import text

Path = tuple[str, ...]
"""Names of resources from the root stack down; the path of a stack is that of its resource in the parent."""


class Denial(StrEnum):
    """What a protection denies."""

    UPDATE = 'update'
    REPLACE = 'replace'
    DELETE = 'delete'


# A replacement deletes the old object: it is denied where deletes are.
DENIED_BY: Mapping[Denial, frozenset[Denial]] = {
    Denial.UPDATE: frozenset({Denial.UPDATE}), Denial.REPLACE: frozenset({Denial.REPLACE, Denial.DELETE}),
    Denial.DELETE: frozenset({Denial.DELETE})}


@dataclass(frozen=True, slots=True)
class Protection:
    """`path`: patterns of names, in which `*` stands for any text; the empty path is the stack itself."""

    path: Path
    deny: frozenset[Denial]
    reason: str = ''

    def denies(self, path: Path, action: Denial) -> bool:
        """Whether the action on the resource, or stack, at this path is denied."""
        return (not self.deny.isdisjoint(DENIED_BY[action]) and len(self.path) <= len(path)
                and fit(self.path, path))

    def __str__(self) -> str:
        return '/'.join(self.path) or 'the stack'

    def to_json(self) -> ProtectionDocument:
        return {'path': '/'.join(self.path), 'deny': sorted(map(str, self.deny)), 'reason': self.reason}

    @classmethod
    def from_json(cls, stored: ProtectionDocument) -> Protection:
        return cls(parsed(stored['path']), frozenset(Denial(each) for each in stored['deny']), stored['reason'])


def changed(present: Iterable[Protection], new_protections: Sequence[Protection],
            removed: Iterable[Path]) -> list[Protection]:
    """Return the protections with those of `new_protections` instead of others with the same path, and without those at
    the paths `removed`."""
    gone = {*removed, *(each.path for each in new_protections)}
    return [*(each for each in present if each.path not in gone), *new_protections]


def parsed(path: str) -> Path:
    """Return the patterns of a path as text, such as `group/*/server`."""
    return tuple(path.split('/')) if path else ()


def fit(patterns: Path, path: Path) -> bool:
    """Whether the names of a path fit the patterns, as far as both have any."""
    return all(map(name_patterns.matches_stars, patterns, path))


def denying(protections: Iterable[Protection], path: Path, action: Denial) -> Protection | None:
    """Return the first protection that denies the action on what is at this path, or None."""
    return next((each for each in protections if each.denies(path, action)), None)



class ProtectionDocument(TypedDict):
    path: str
    deny: list[str]
    reason: str


class BlockedDocument(TypedDict):
    path: list[str]
    action: str
    protection: ProtectionDocument


@dataclass(frozen=True, slots=True)
class DeniedAction:
    """An action that a protection denies. `path`: of the resource, or of a stack."""

    path: Path
    action: Denial
    protection: Protection

    def __str__(self) -> str:
        denied = text.denied(self.action, str(self.protection), self.protection.reason)
        return f"{'/'.join(self.path) or 'the stack'}: {denied}"

    def to_json(self) -> BlockedDocument:
        return {'path': list(self.path), 'action': str(self.action), 'protection': self.protection.to_json()}

    @classmethod
    def from_json(cls, stored: BlockedDocument) -> DeniedAction:
        return cls(tuple(stored['path']), Denial(stored['action']), Protection.from_json(stored['protection']))


def blocked(protections: Sequence[Protection], actions: Iterable[tuple[Path, Denial]]) -> Iterator[DeniedAction]:
    """Yield those of the actions on resources that are denied."""
    for path, action in actions:
        turns.spend(len(protections))
        found = denying(protections, path, action)
        if found is not None:
            yield DeniedAction(path, action, found)


@dataclass(frozen=True, slots=True)
class Guard:
    """What protections deny in one stack. `path`: of the stack in its tree; `inside`: resource name -> paths of the
    resources in its nested stack, at any depth."""

    path: Path = ()
    protections: tuple[Protection, ...] = ()
    inside: Mapping[str, Sequence[Path]] = field(default_factory=dict)

    def blocks(self, name: str, action: Denial) -> DeniedAction | None:
        """Return what denies the action on a resource of the stack, or None.

        A resource is neither deleted nor replaced if that would delete or replace something protected inside it.
        """
        if not self.protections:
            return None
        paths: Iterable[Path] = [(*self.path, name)]
        if action is not Denial.UPDATE:
            paths = itertools.chain(paths, self.inside.get(name, ()))
        return next(blocked(self.protections, ((path, action) for path in paths)), None)

    def refusal(self, name: str, action: Denial) -> str:
        """Return the failure of an action that is denied; '' if it is not."""
        found = self.blocks(name, action)
        return '' if found is None else text.protected(name, str(found))

    def refusal_to_grow(self, name: str) -> str:
        """Return why an update may not add a resource to the stack: it is a nested one, and its resource in the parent
        must not be updated. '' if it may."""
        found = denying(self.protections, self.path, Denial.UPDATE) if self.path else None
        return '' if found is None else text.protected(name, str(DeniedAction(self.path, Denial.UPDATE, found)))


UNGUARDED = Guard()


def reach_inside(protections: Iterable[Protection], path: Path) -> bool:
    """Whether a protection may hold for something inside nested stacks of the stack at this path."""
    return any(len(each.path) > len(path) + 1 and fit(each.path, path) for each in protections)


def guard(path: Path, protections: Sequence[Protection], inside: Iterable[Path]) -> Guard:
    """Return what is denied in the stack at `path`. `inside`: paths of the resources in its nested stacks."""
    found: dict[str, list[Path]] = {}
    for each in inside:
        found.setdefault(each[len(path)], []).append(each)
    return Guard(path, tuple(protections), found)
