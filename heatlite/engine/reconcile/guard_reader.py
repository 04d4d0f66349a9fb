"""Reads what the protections of a tree deny in one of its stacks."""

from __future__ import annotations

from sqlalchemy import Connection

from heatlite.db import guards, resources, stack_trees
from heatlite.db.stacks import StoredStack
from heatlite.planning import protection
from heatlite.planning.protection import UNGUARDED, Guard, Path


def guard(tx: Connection, row: StoredStack) -> Guard:
    """Return what is denied in a stack. One statement by primary key, a few more if the tree has protections."""
    protections = guards.of(tx, row.root_id).protections
    if not protections:
        return UNGUARDED
    path = stack_trees.path(tx, row)
    inside = inner_paths(tx, row, path) if protection.reach_inside(protections, path) else []
    return protection.guard(path, protections, inside)


def inner_paths(tx: Connection, row: StoredStack, path: Path) -> list[Path]:
    """Return the paths of all resources in nested stacks below a stack. `path`: its own."""
    below = stack_trees.descendants(tx, row.root_id, row.id)
    names = resources.names(tx, [each.id for each in below])
    paths = stack_trees.paths(row.id, below, path)
    return [(*paths[each.id], name) for each in below for name in names.get(each.id, ())]
