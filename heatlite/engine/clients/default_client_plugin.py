"""The client plug-in of resources that have no client: no error means anything special."""

from __future__ import annotations

from heatlite.engine.clients import client_plugin


class DefaultClientPlugin(client_plugin.ClientPlugin[None]):
    def _create(self, version: str | None = None) -> None:
        return None
