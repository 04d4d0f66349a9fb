"""All checks, in the order in which they are printed: a group for what is on this host, and one for each service."""

from __future__ import annotations

from heatlite.cmd.doctor import broker, cells, configuration, database, extensions, files, identity, services
from heatlite.cmd.doctor.checks import Check

GROUPS: tuple[tuple[Check, ...], ...] = (
    (*configuration.CHECKS, *files.CHECKS, *extensions.CHECKS), database.CHECKS, broker.CHECKS,
    cells.CHECKS, (*identity.CHECKS, *services.CHECKS))
CHECKS: tuple[Check, ...] = tuple(check for group in GROUPS for check in group)
