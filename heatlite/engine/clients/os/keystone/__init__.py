"""Identity (Keystone): projects, users, roles, and the finders of their ids by name."""

from __future__ import annotations

import re

from heatlite.common import exception
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import service
from heatlite.engine.clients.os.keystone import heat_keystoneclient

CLIENT_NAME = 'keystone'
NAME_WITH_DOMAIN = re.compile(r'(?P<entity>.*)\{(?P<domain>[^{}]+)\}')


class KeystoneServiceNameConflict(exception.HeatException):
    msg_fmt = 'Keystone has more than one service with same name %(service)s. Please use service id instead of name'


class KeystoneClientPlugin(service.StatusPlugin[heat_keystoneclient.KeystoneClient]):
    option_group = CLIENT_NAME
    service_types = [IDENTITY] = ['identity']
    api_version = {'min_version': '3', 'max_version': '3.latest'}

    def _create(self, version: str | None = None) -> heat_keystoneclient.KeystoneClient:
        return heat_keystoneclient.KeystoneClient(self.context, self._get_region_name())

    # --- names --------------------------------------------------------------------------------------------

    def parse_entity_with_domain(self, entity_with_domain: str, entity_type: str) -> tuple[str, str | None]:
        """(name, id of the domain) of `name{domain}`; no domain without braces."""
        match = NAME_WITH_DOMAIN.fullmatch(str(entity_with_domain))
        if match is None:
            return entity_with_domain, None
        return match['entity'], self.get_domain_id(match['domain'])

    def _named(self, entity: str, plural: str, wanted: str | None, domain: str | None = None) -> str | None:
        """By id, then by name in the domain. Raises EntityNotFound."""
        if wanted is None:
            return None
        name, own_domain = self.parse_entity_with_domain(wanted, entity)
        things = getattr(self.client().client, plural)
        try:
            found = things.get(name)
            if found is not None:
                return str(found.id)
        except Exception as error:
            if not self.is_not_found(error) and not self.is_bad_request(error):
                raise
        for entry in things.list(name=name, domain=own_domain or domain):
            if entry.name == name:
                return str(entry.id)
        raise exception.EntityNotFound(entity=entity, name=name)

    @shared.MEMOIZE_FINDER
    def get_role_id(self, role: str, domain: str | None = None) -> str | None:
        return self._named('KeystoneRole', 'roles', role, domain)

    @shared.MEMOIZE_FINDER
    def get_project_id(self, project: str, domain: str | None = None) -> str | None:
        return self._named('KeystoneProject', 'projects', project, domain)

    @shared.MEMOIZE_FINDER
    def get_group_id(self, group: str, domain: str | None = None) -> str | None:
        return self._named('KeystoneGroup', 'groups', group, domain)

    @shared.MEMOIZE_FINDER
    def get_user_id(self, user: str, domain: str | None = None) -> str | None:
        return self._named('KeystoneUser', 'users', user, domain)

    @shared.MEMOIZE_FINDER
    def get_domain_id(self, domain: str | None) -> str | None:
        if domain is None:
            return None
        domains = self.client().client.domains
        try:
            return str(domains.get(domain).id)
        except Exception as error:
            if not self.is_not_found(error):
                raise
        for entry in domains.list(name=domain):
            if entry.name == domain:
                return str(entry.id)
        raise exception.EntityNotFound(entity='KeystoneDomain', name=domain)

    @shared.MEMOIZE_FINDER
    def get_service_id(self, service: str | None) -> str | None:
        if service is None:
            return None
        services = self.client().client.services
        try:
            return str(services.get(service).id)
        except Exception as error:
            if not self.is_not_found(error):
                raise
        named = [entry for entry in services.list(name=service) if entry.name == service]
        if len(named) > 1:
            raise KeystoneServiceNameConflict(service=service)
        if not named:
            raise exception.EntityNotFound(entity='KeystoneService', name=service)
        return str(named[0].id)

    @shared.MEMOIZE_FINDER
    def get_region_id(self, region: str) -> str:
        try:
            return str(self.client().client.regions.get(region).id)
        except Exception as error:
            if self.is_not_found(error):
                raise exception.EntityNotFound(entity='KeystoneRegion', name=region) from error
            raise
