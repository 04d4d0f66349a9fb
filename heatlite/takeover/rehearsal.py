"""Finds what `store` would refuse, and stores nothing: for dry runs. Its methods are the functions of `store`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import presence
from heatlite.db.bulk import chunks
from heatlite.db.software_configs import Config
from heatlite.db.software_deployments import Deployment
from heatlite.db.tables import software_config, stack
from heatlite.takeover import store
from heatlite.takeover.convert import MARK, ConvertedTree, NotConvertible
from heatlite.takeover.store import Present, Row


class Rehearsal:
    """Remembers what the run would have stored so far: names of stacks and ids of configs, about 200 bytes of each.

    Every method may be called again with the same values."""

    def __init__(self) -> None:
        self._names: dict[tuple[str | None, str], str] = {}     # project, name -> root
        self._configs: set[str] = set()

    def put(self, tx: sa.Connection, whole: ConvertedTree, source: str, now: datetime) -> Present:
        root = whole.root.row
        if presence.has_left(tx, str(root.project_id)):
            raise presence.moved()
        found = store.present(tx, {root.id: (root.request or {}).get(MARK)})[root.id]
        if found not in (Present.NOTHING, Present.OLD):
            return found
        names = Counter((each.row.project_id, each.row.name) for each in whole.stacks if each.row.deleted_at is None)
        taken = _taken(tx, names, root.id)
        for (project_id, name), number in names.items():
            if number > 1 or (project_id, name) in taken or self._names.get((project_id, name), root.id) != root.id:
                raise exception.StackExists(stack_name=name)
        self._names.update(dict.fromkeys(names, root.id))
        return found

    def remove(self, tx: sa.Connection, root_id: str) -> bool:
        return store.present(tx, {root_id: None})[root_id] is Present.OLD

    def put_configs(self, tx: sa.Connection, found: Sequence[Config]) -> tuple[int, list[NotConvertible]]:
        found, refused = _here(tx, 'software_config', found)
        ids = {each.id for each in found}
        self._configs |= ids
        return len(ids - store.there(tx, software_config, sorted(ids))), refused

    def put_deployments(self, tx: sa.Connection, found: Sequence[Deployment]) -> tuple[int, list[NotConvertible]]:
        wanted_ids = {each.config_id for each in found}
        configs = wanted_ids & self._configs | store.there(tx, software_config, sorted(wanted_ids))
        wanted, refused = store.changed_deployments(tx, found, configs)
        wanted, elsewhere = _here(tx, 'software_deployment', wanted)
        return len(wanted), [*elsewhere, *refused]


def _here(tx: sa.Connection, kind: str, found: Sequence[Row]) -> tuple[list[Row], list[NotConvertible]]:
    outside = {project_id for project_id in {each.project_id for each in found} if presence.has_left(tx, project_id)}
    return ([each for each in found if each.project_id not in outside],
            [NotConvertible(f'{kind} {each.id}', store.elsewhere()) for each in found if each.project_id in outside])


def _taken(tx: sa.Connection, names: Collection[tuple[str | None, str]], root_id: str) -> set[tuple[str | None, str]]:
    """Those of the names that live stacks of other trees have. Index: (project_id, name, live)."""
    query = sa.select(stack.c.project_id, stack.c.name).where(stack.c.live == 1, stack.c.root_id != root_id)
    return {(row.project_id, row.name) for project_id in {project for project, _name in names}
            for chunk in chunks([name for project, name in names if project == project_id])
            for row in tx.execute(query.where(stack.c.project_id == project_id, stack.c.name.in_(chunk)))}
