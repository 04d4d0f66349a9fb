"""The engines, how much work they have, and the versions of API and engine."""

from __future__ import annotations

from heatlite.api import views
from heatlite.api.wsgi import Request
from heatlite.common import build
from heatlite.db import engines
from heatlite.db import load as loads


def index(req: Request) -> dict[str, object]:
    """Return the engines of all cells, or of the one that an administrator names."""
    cells = req.services.cells
    found = []
    for each in [req.services] if cells is None or cells.chosen(req) is not None else cells.all:
        with each.database.reader() as tx:
            found += engines.page(tx)
    return {'services': [views.service(each, each.is_up) for each in found]}


def load(req: Request) -> dict[str, object]:
    """Work of all projects, as numbers: what is driven, what waits for an engine, and which services take long."""
    with req.db.reader() as tx:
        found = loads.read(tx)
    return {'load': views.load(found)}


def build_info(req: Request) -> dict[str, object]:
    """Return the revision of both: API and engine come from one source tree."""
    revision = {'revision': req.conf.revision.heat_revision or build.revision()}
    return {'api': revision, 'engine': dict(revision)}
