"""Validates tokens at Keystone. Only imported by services that have one."""

from __future__ import annotations

from typing import Any

from keystonemiddleware import auth_token


class KeystoneAuth(auth_token.AuthProtocol):        # type: ignore[misc] # it has no type hints
    """Keystone's own middleware, without the header X-Service-Catalog.

    No layer reads it, and to write it takes a fifteenth of a small request. The catalog is a part of the validated
    token, which engines get: the option `include_service_catalog` would leave it out of that, too."""

    def __init__(self, app: Any, conf: dict[str, Any]) -> None:
        super().__init__(app, conf)
        self._include_service_catalog = False       # after the client of Keystone was made with its own copy
