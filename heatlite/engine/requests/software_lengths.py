"""Checks the lengths of texts of software configs and deployments, which come from requests and from templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from heatlite.common import exception
from heatlite.common.i18n import _

# field -> characters, the size of its column
LONGEST: Final[Mapping[str, int]] = {
    'name': 255, 'group': 255, 'server_id': 36, 'config_id': 36, 'stack_user_project_id': 64, 'action': 32,
    'status': 32}


def check(fields: Mapping[str, object]) -> None:
    """Raise InvalidField for the first of `fields` that is longer than its column."""
    for name, most in LONGEST.items():
        value = fields.get(name)
        if isinstance(value, str) and len(value) > most:
            raise exception.InvalidField(name, _('at most %s characters') % most, f'{value[:most]}...')
