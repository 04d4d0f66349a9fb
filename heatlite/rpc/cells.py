"""The cells beside the home cell, as the APIs reach them: a database and a broker each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heatlite.common import config, exception, messaging, options
from heatlite.common.i18n import _
from heatlite.db.cells import databases
from heatlite.db.connection import Database
from heatlite.rpc.client import BrokerClient, EngineClient
from heatlite.rpc.engine_life import EngineLife

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts


@dataclass(frozen=True)
class Cell:
    database: Database
    engine: EngineClient


def clients(conf: ConfigOpts, process: str) -> dict[str, Cell]:
    """The cells of [cells] names, by name; empty without the option. `process`: as in `messaging.transport`.

    Raises Error for an option that is missing.
    """
    config.register_cells(conf)
    found = {}
    for name, database in databases(conf).items():
        given = conf[options.cell_group(name)]
        url = given.transport_url
        if not url:
            raise exception.Error(_('The option [%s] transport_url is not set.') % options.cell_group(name))
        transport = messaging.transport(conf, f'{process}-{name}', url)
        found[name] = Cell(database, BrokerClient(conf, transport, url=url, topic=given.topic,
                                                  engines=EngineLife(database)))
    return found


NONE: Mapping[str, Cell] = {}
