"""Finds the target of a rollback: the last definition that was reached; of a create, the empty one."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from heatlite.db import stacks, templates
from heatlite.language import template as language_template
from heatlite.planning.states import Action

FROM_NOTHING = frozenset({Action.CREATE, Action.ADOPT})


def stored_target(row: stacks.StoredStack) -> str | None:
    """Return the id of the template to go back to; None: the empty one, which may not be stored yet."""
    if row.action in FROM_NOTHING:
        return row.previous_template_id
    return row.previous_template_id or row.template_id          # None in rows of former releases


def target(tx: Connection, row: stacks.StoredStack, new_id: str, now: datetime) -> str:
    """Return the id of the template to go back to. `new_id`: the id of an empty template, stored if needed."""
    stored = stored_target(row)
    if stored is not None:
        return stored
    current = templates.show(tx, row.template_id)
    return templates.insert(tx, new_id, _empty(language_template.Template(dict(current.document))),
                            current.environment, None, now, stack_id=row.id, is_nested=row.owner_id is not None)


def _empty(template: language_template.Template) -> dict[str, object]:
    """Return an empty template of the same version."""
    key, _, version = template.version.partition('.')
    return {key: version, template.keys.resources: {}}
