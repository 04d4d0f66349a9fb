"""The API version below a project's URL. The list of all versions, without identity, is in middleware.version."""

from __future__ import annotations

from heatlite.api import links
from heatlite.api.wsgi import Request


def show(req: Request) -> dict[str, object]:
    """Return the version, for clients that look for it at the endpoint of the catalogue, as the SDKs do without a
    Keystone.

    The link does not contain the project: clients append it.
    """
    return {'version': {'id': 'v1.0', 'status': 'CURRENT', 'links': [links.link(f'{req.base}/')]}}
