"""All checks, in the order in which they are printed."""

from __future__ import annotations

from heatlite.cmd.doctor import broker, configuration, database, extensions, files, identity, services
from heatlite.cmd.doctor.checks import Check

CHECKS: tuple[Check, ...] = (
    *configuration.CHECKS, *files.CHECKS, *extensions.CHECKS, *database.CHECKS, *broker.CHECKS, *identity.CHECKS,
    *services.CHECKS)
