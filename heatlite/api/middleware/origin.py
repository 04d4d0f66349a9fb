"""CORS, for requests that browsers send on behalf of pages of other sites."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_config import cfg
from oslo_middleware import cors

cors.set_defaults(
    allow_methods=['GET', 'PUT', 'POST', 'DELETE', 'PATCH'],
    allow_headers=['X-Auth-Token', 'X-Identity-Status', 'X-Roles', 'X-Service-Catalog', 'X-User-Id', 'X-Tenant-Id',
                   'X-OpenStack-Request-ID', 'If-Match'],
    expose_headers=['X-Auth-Token', 'X-Subject-Token', 'X-Service-Token', 'X-OpenStack-Request-ID', 'ETag'])


class CrossOrigin:
    """The library's layer, configured by [cors]. Other requests bypass it: it would cost each a tenth of its time."""

    def __init__(self, app: WSGIApplication, conf: cfg.ConfigOpts) -> None:
        self._app = app
        self._cors = cors.CORS(app, conf=conf)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        concerned = 'HTTP_ORIGIN' in environ or environ.get('REQUEST_METHOD') == 'OPTIONS'
        return (self._cors if concerned else self._app)(environ, start_response)
