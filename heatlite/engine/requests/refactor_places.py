"""Finds the places that the moves of a refactor name: a resource of a stack, or by its path one in a nested stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import stack_trees, stacks
from heatlite.planning.plan import Path
from heatlite.planning.refactoring import Move, ResourcePlace

SEPARATOR = '/'                         # of the names in the path of a resource


@dataclass(frozen=True)
class NestedMove:
    """A nested stack whose resource is moved. `below`: the stacks inside it."""

    stack: stacks.Identity
    below: tuple[stacks.Identity, ...]
    move: Move


@dataclass
class RefactorPlaces:
    """What the moves name. `inner`: the nested stacks that resources go into or out of, and those around
    them, by id; `before`, `after`: place of a resource before or after the moves
    -> the root of its tree and its path there."""

    moves: list[Move] = field(default_factory=list)
    inner: dict[str, stacks.StoredStack] = field(default_factory=dict)
    nested: list[NestedMove] = field(default_factory=list)
    before: dict[ResourcePlace, tuple[str, Path]] = field(default_factory=dict)
    after: dict[ResourcePlace, tuple[str, Path]] = field(default_factory=dict)


def find(tx: Connection, moves: Sequence[Mapping[str, Mapping[str, str]]], roots: Mapping[str, str],
         names: Mapping[str, str]) -> RefactorPlaces:
    """Return the places of the moves. `roots`: how a move may name a root stack -> its id; `names`: id -> name.

    Raises HTTPBadRequest with all stacks that are not part of the request, and all nested stacks that do not exist."""
    unknown = sorted({str(move[end]['stack']) for move in moves for end in ('from', 'to')} - roots.keys())
    if unknown:
        raise exception.HTTPBadRequest(_('A move names a stack that is not among the stacks of the refactor: %s.')
                                       % ', '.join(unknown))
    return _Finder(tx, roots, names).find(moves)


def renames(moves: Sequence[Mapping[str, Mapping[str, str]]], root: str) -> dict[str, str]:
    """Return the moves within a root stack itself: old name -> new one. `root`: how moves name it."""
    return {move['from']['resource']: move['to']['resource'] for move in moves
            if move['from']['stack'] == move['to']['stack'] == root
            and SEPARATOR not in move['from']['resource'] + move['to']['resource']}


class _Finder:
    """Finds the places of one refactor, in the thread of its request."""

    def __init__(self, tx: Connection, roots: Mapping[str, str], names: Mapping[str, str]) -> None:
        self._tx = tx
        self._roots = roots
        self._names = names
        self._places = RefactorPlaces()
        self._known: dict[str, Mapping[str, stacks.Identity]] = {}
        self._problems: dict[str, None] = {}
        self._became: dict[ResourcePlace, ResourcePlace] = {}       # target -> source, of the moves found so far

    def find(self, moves: Sequence[Mapping[str, Mapping[str, str]]]) -> RefactorPlaces:
        sources = [self._place(move['from'], is_target=False) for move in moves]
        targets: list[ResourcePlace | None] = [None] * len(moves)
        # A target may be inside a nested stack whose resource is moved as well: the outer ones come first.
        for number in sorted(range(len(moves)), key=lambda each: moves[each]['to']['resource'].count(SEPARATOR)):
            source, target = sources[number], self._place(moves[number]['to'], is_target=True)
            targets[number] = target
            if source is not None and target is not None:
                self._became[target] = source
        if self._problems:
            raise exception.HTTPBadRequest('; '.join(self._problems) + '.')
        self._places.moves = [Move(source, target) for source, target in zip(sources, targets, strict=True)
                              if source is not None and target is not None]
        self._places.nested = [nested for move in self._places.moves if (nested := self._nested(move)) is not None]
        return self._places

    def _place(self, ends: Mapping[str, str], is_target: bool) -> ResourcePlace | None:
        root_id = self._roots[ends['stack']]
        *around, name = ends['resource'].split(SEPARATOR)
        at, path = root_id, list[str]()
        for each in around:
            path.append(each)
            place = ResourcePlace(at, each)
            if is_target:
                place = self._became.get(place, place)
            row = self._child(place)
            if row is None:
                self._problems[f'{self._names[root_id]}/{SEPARATOR.join(path)}: there is no nested stack'] = None
                return None
            self._places.inner.setdefault(row.id, row)
            at = row.id
        found = ResourcePlace(at, name)
        (self._places.after if is_target else self._places.before)[found] = root_id, (*path, name)
        return found

    def _child(self, place: ResourcePlace) -> stacks.StoredStack | None:
        child = self._children(place.stack).get(place.name)
        return None if child is None else stacks.get(self._tx, child.id)

    def _children(self, stack_id: str) -> Mapping[str, stacks.Identity]:
        """Return the nested stacks of the resources of a stack, read once."""
        if stack_id not in self._known:
            inner = self._places.inner.get(stack_id)
            root_id = stack_id if inner is None else inner.root_id
            self._known[stack_id] = {str(each.parent_resource): each
                                     for each in stack_trees.descendants(self._tx, root_id, stack_id, 1)}
        return self._known[stack_id]

    def _nested(self, move: Move) -> NestedMove | None:
        child = self._children(move.source.stack).get(move.source.name)
        if child is None:
            return None
        return NestedMove(child, tuple(stack_trees.descendants(self._tx, child.root_id, child.id)), move)
