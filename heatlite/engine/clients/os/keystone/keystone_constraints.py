"""Checks that a value names something in Keystone. No text at all is refused without asking."""

from __future__ import annotations

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import constraints
from heatlite.engine.clients.os.keystone import KeystoneServiceNameConflict


class KeystoneBaseConstraint(constraints.BaseCustomConstraint):
    resource_client_name = 'keystone'
    entity = ''

    def validate_with_client(self, client: object, resource_id: object) -> None:
        if resource_id == '':
            raise exception.EntityNotFound(entity=self.entity, name=_('empty string is not allowed'))
        super().validate_with_client(client, resource_id)


class KeystoneRoleConstraint(KeystoneBaseConstraint):
    resource_getter_name, entity = 'get_role_id', 'KeystoneRole'


class KeystoneDomainConstraint(KeystoneBaseConstraint):
    resource_getter_name, entity = 'get_domain_id', 'KeystoneDomain'


class KeystoneProjectConstraint(KeystoneBaseConstraint):
    resource_getter_name, entity = 'get_project_id', 'KeystoneProject'


class KeystoneGroupConstraint(KeystoneBaseConstraint):
    resource_getter_name, entity = 'get_group_id', 'KeystoneGroup'


class KeystoneUserConstraint(KeystoneBaseConstraint):
    resource_getter_name, entity = 'get_user_id', 'KeystoneUser'


class KeystoneServiceConstraint(KeystoneBaseConstraint):
    expected_exceptions = (exception.EntityNotFound, KeystoneServiceNameConflict)
    resource_getter_name, entity = 'get_service_id', 'KeystoneService'


class KeystoneRegionConstraint(KeystoneBaseConstraint):
    resource_getter_name, entity = 'get_region_id', 'KeystoneRegion'
