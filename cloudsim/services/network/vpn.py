"""Policies of virtual private networks: what clouds no longer take."""

from __future__ import annotations

from typing import Any

from cloudsim.messages import BadRequest
from cloudsim.services.network.neutral import NeutronCollection

REFUSED = {'auth_algorithm': 'sha1', 'encryption_algorithm': '3des'}    # by the extension vpn-no-sha1-3des


class VpnPolicies(NeutronCollection):
    def check(self, given: dict[str, Any]) -> None:
        super().check(given)
        for name, value in REFUSED.items():
            if given.get(name) == value:
                raise BadRequest(f"Invalid input for {name}. Reason: '{value}' is not in the allowed values.",
                                 'HTTPBadRequest')
