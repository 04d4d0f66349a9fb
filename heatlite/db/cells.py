"""The databases of the cells beside the home cell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heatlite.common import config, exception, options
from heatlite.common.i18n import _
from heatlite.db.connection import Database
from heatlite.db.project_cells import HOME

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

_NAME = re.compile(r'[a-z0-9][a-z0-9-]{0,39}\Z')


def names(conf: ConfigOpts) -> list[str]:
    """[cells] names, with their options registered; empty without the option. Raises Error for a wrong name."""
    config.register(conf)
    config.register_cells(conf)
    found: list[str] = []
    for name in conf.cells.names:
        if not _NAME.match(name) or name == HOME or name in found:
            raise exception.Error(_('[cells] names: "%s" is no name of another cell (lower-case letters, digits and '
                                    'hyphens, each once, and not "home").') % name)
        found.append(name)
    return found


def databases(conf: ConfigOpts) -> dict[str, Database]:
    """By name, in the order of [cells] names; empty without the option. Raises Error for an option that is wrong."""
    found: dict[str, Database] = {}
    for name in names(conf):
        url = conf[options.cell_group(name)].connection
        if not url:
            raise exception.Error(_('The option [%s] connection is not set.') % options.cell_group(name))
        found[name] = Database.from_options(conf, connection=url)
    return found
