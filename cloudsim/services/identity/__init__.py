"""Keystone: who is who, who may what, and where the services are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import Call, Identity
from cloudsim.service import Route, Service
from cloudsim.services.identity import credentials, ec2_signature, people, seeds
from cloudsim.services.identity.assignments import Assignments
from cloudsim.services.identity.catalog import Catalog
from cloudsim.services.identity.tokens import Tokens
from cloudsim.store import Table

if TYPE_CHECKING:
    from cloudsim.cloud import Cloud


class IdentityService(Service):
    classes = {
        'domains': people.Domains, 'projects': people.Projects, 'users': people.Users, 'groups': people.Groups,
        'roles': people.Roles, 'regions': people.Regions, 'endpoints': people.Endpoints,
        'credentials': credentials.Credentials, 'trusts': credentials.Trusts,
        'application_credentials': credentials.ApplicationCredentials,
        'ec2_credentials': credentials.Ec2Credentials,
    }

    def __init__(self, cloud: Any, description: Any) -> None:
        self.assignments = Assignments(self)
        self.tokens = Tokens(self)
        self.catalog = Catalog(self)
        super().__init__(cloud, description)

    def own_routes(self) -> Iterable[Route]:
        yield from self.tokens.routes()
        yield from self.assignments.routes()
        yield from people.routes(self)
        yield from credentials.routes(self)
        yield from ec2_signature.routes(self)

    def tables(self) -> Iterable[Table]:
        return [*super().tables(), self.assignments.table]

    def seed(self, call: Call) -> None:
        seeds.fill(self, call)

    def of_token(self, token: str | None) -> Identity | None:
        return self.tokens.identity(token)

    def add_region(self, region: Cloud) -> None:
        """Puts a region and its services into the catalog."""
        seeds.fill_region(self, region)

    def add_outside(self, region: Cloud, urls: dict[str, str]) -> None:
        """Puts services of a region that run elsewhere into the catalog; see `Cloud.outside`."""
        region.outside.update(urls)
        seeds.fill_outside(self, region)


SERVICE = IdentityService
