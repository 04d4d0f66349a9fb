"""The version that is served below a project's URL. All versions, without identity: middleware.version."""

from __future__ import annotations

from typing import Any

from heatlite.api import links
from heatlite.api.wsgi import Request


def show(req: Request) -> dict[str, Any]:
    """For clients that look for versions where the catalogue points, as the SDKs do without a Keystone.

    The link leaves the project out: they put it behind again themselves.
    """
    return {'version': {'id': 'v1.0', 'status': 'CURRENT', 'links': [links.link(f'{req.base}/')]}}
