"""Connections to addresses that users name: only where the operator allows.

A user's login at another cloud names a Keystone, whose catalogue and redirects name further addresses. Each connection
looks the name up once and goes to an address that is permitted; proxies are not used, because they would look it up
again.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from oslo_config import cfg
from urllib3 import exceptions
from urllib3.connection import HTTPConnection

from heatlite.common import runtime, urlfetch
from heatlite.engine.clients import bounded

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

Timeout: TypeAlias = float | tuple[float | None, float | None] | None
USUAL_TIMEOUT = 60.0                        # seconds, for a request that has none


class _Guarded(HTTPConnection):
    """A connection that opens its socket to permitted addresses only, and within its time-out, with TLS."""

    def connect(self) -> None:
        with runtime.limited(self._seconds()):
            super().connect()

    def _new_conn(self) -> socket.socket:
        try:
            return urlfetch.connected(self.host.strip('[]'), self.port or self.default_port, self._seconds())
        except TimeoutError as error:
            raise exceptions.ConnectTimeoutError(self, str(error)) from None
        except OSError as error:
            raise exceptions.NewConnectionError(self, str(error)) from None

    def _seconds(self) -> float:
        return self.timeout if isinstance(self.timeout, int | float) else USUAL_TIMEOUT


class _Plain(_Guarded, bounded.Plain):
    pass


class _Encrypted(_Guarded, bounded.Encrypted):
    pass


class GuardedAdapter(bounded.Adapter):
    """Sends requests only to addresses outside `template_fetch_deny`, or within `template_fetch_allow`."""

    plain, encrypted = _Plain, _Encrypted

    def send(self, request: PreparedRequest, stream: bool = False, timeout: Timeout = None, verify: bool | str = True,
             cert: str | tuple[str, str] | None = None,
             proxies: Mapping[str, str] | None = None) -> Response:
        with runtime.limited(cfg.CONF.clients.max_answer_time):         # also if the server reads byte by byte
            return super().send(request, stream, timeout, verify, cert, proxies=None)
