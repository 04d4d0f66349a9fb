"""OS::Trove::Instance.

Schema: heatlite/engine/resources/catalogue/trove.yaml
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypedDict

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource, translation
from heatlite.engine.clients.os import http
from heatlite.engine.clients.os.collection import without_none
from heatlite.engine.properties import Properties, PropertyDiff, Values
from heatlite.engine.resources import catalogue, existing
from heatlite.engine.resources.openstack.trove import instance_steps
from heatlite.engine.resources.openstack.trove.instance_steps import InstanceStep
from heatlite.engine.resources.unknown_values import entries
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.unknown import is_known

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Entity, Fields

TYPE = 'OS::Trove::Instance'
NOT_YET = 422                           # the answer to a delete while the instance is made or changed
BROKEN = ('ERROR', 'FAILED')
FAILURE = {'ERROR': _('The last operation for the database instance failed due to an error.'),
           'FAILED': _('The database instance was created, but heat failed to set up the datastore. If a database '
                       'instance is in the FAILED state, it should be deleted and a new one should be created.')}


class Deletion(TypedDict):
    """`asked`: the service has taken the request."""

    asked: bool


class Instance(resource.Resource):
    """A database server with its databases and users."""

    default_client_name = 'trove'
    entity = 'instances'
    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (
        NAME, FLAVOR, SIZE, DATABASES, USERS, AVAILABILITY_ZONE, RESTORE_POINT, DATASTORE_TYPE, DATASTORE_VERSION,
        NICS, REPLICA_OF, REPLICA_COUNT) = (
        'name', 'flavor', 'size', 'databases', 'users', 'availability_zone', 'restore_point', 'datastore_type',
        'datastore_version', 'networks', 'replica_of', 'replica_count')
    ATTRIBUTES = (HOSTNAME, HREF) = ('hostname', 'href')

    def translation_rules(self, properties: Properties) -> list[translation.TranslationRule]:
        rule = translation.TranslationRule
        return [rule(properties, rule.RESOLVE, [self.FLAVOR], client_plugin=self.client_plugin(),
                     finder='find_flavor_by_name_or_id')]

    def validate(self) -> None:
        """Raise StackValidationFailed."""
        super().validate()
        deferred = self.t.deferred
        if not {self.DATASTORE_TYPE, self.DATASTORE_VERSION} & set(deferred):
            self.client_plugin().validate_datastore(self.properties[self.DATASTORE_TYPE],
                                                    self.properties[self.DATASTORE_VERSION],
                                                    self.DATASTORE_TYPE, self.DATASTORE_VERSION)
        users = self.properties[self.USERS]
        if users and not {self.USERS, self.DATABASES} & set(deferred):
            self._check_users(users, [database['name'] for database in self.properties[self.DATABASES] or ()])
        for nic in entries(self.properties, self.NICS):
            given = [nic.get('network'), nic.get('port')]
            if is_known(given) and sum(map(bool, given)) != 1:
                raise exception.StackValidationFailed(message=_('Either network or port must be provided.'))

    def _check_users(self, users: Iterable[Values], databases: list[str]) -> None:
        if not databases:
            raise exception.StackValidationFailed(message=_(
                'Databases property is required if users property is provided for resource %s.') % self.name)
        for user in users:
            missing = [name for name in user['databases'] or () if name not in databases]
            if missing:
                raise exception.StackValidationFailed(message=_(
                    'Database %(dbs)s specified for user does not exist in databases for resource %(name)s.') % {
                        'dbs': missing, 'name': self.name})

    # --- creating -----------------------------------------------------------------------------------------

    def _name(self) -> str:
        return str(self.properties[self.NAME] or self.physical_resource_name())

    def handle_create(self) -> str:
        props = self.properties
        body: dict[str, object] = {
            'name': self._name(), 'flavorRef': props[self.FLAVOR], 'volume': {'size': props[self.SIZE]},
            'databases': [without_none(database) for database in props[self.DATABASES]],
            'users': [instance_steps.user_body(user) for user in props[self.USERS]],
            'availability_zone': props[self.AVAILABILITY_ZONE], 'replica_of': props[self.REPLICA_OF],
            'replica_count': props[self.REPLICA_COUNT]}
        if props[self.RESTORE_POINT]:
            body['restorePoint'] = {'backupRef': props[self.RESTORE_POINT]}
        if props[self.DATASTORE_TYPE] or props[self.DATASTORE_VERSION]:
            body['datastore'] = without_none({'type': props[self.DATASTORE_TYPE],
                                                      'version': props[self.DATASTORE_VERSION]})
        nics = [self._nic(nic) for nic in props[self.NICS]]
        if nics:
            body['nics'] = nics
        instance_id = existing.create(self, lambda: str(self.client().instances.create(**body).id),
                                      self._namesakes if self.properties[self.NAME] else None)
        self.resource_id_set(instance_id)
        return instance_id

    def _nic(self, nic: Mapping[str, str]) -> dict[str, str]:
        neutron = self.client_plugin('neutron')
        found: dict[str, str] = {}
        if nic.get('network'):
            found['net-id'] = neutron.find_resourceid_by_name_or_id('network', nic['network'])
        if nic.get('port'):
            found['port-id'] = neutron.find_resourceid_by_name_or_id('port', nic['port'])
        if nic.get('fixed_ip'):
            found['v4-fixed-ip'] = nic['fixed_ip']
        return found

    def find_existing(self) -> str | None:
        return existing.choose(self, self._namesakes(), own_name=not self.properties[self.NAME])

    def _namesakes(self) -> list[dict[str, object]]:
        name = self._name()
        return [each.to_dict() for each in self.client().instances.list() if each.name == name]

    def _shown(self) -> Entity | None:
        """None when the service is too busy to tell."""
        try:
            found: Entity = self.client().instances.get(self.resource_id)
            return found
        except Exception as error:
            if self.client_plugin().is_over_limit(error):
                return None
            raise

    def check_create_complete(self, *args: object) -> bool:
        return self._is_active()

    def _is_active(self) -> bool:
        """Raise ResourceInError."""
        instance = self._shown()
        if instance is None:
            return False
        if instance.status in BROKEN:
            raise exception.ResourceInError(resource_status=instance.status, status_reason=FAILURE[instance.status])
        return bool(instance.status == 'ACTIVE')

    def handle_check(self) -> None:
        self._check_created()
        instance = self.client().instances.get(self.resource_id)
        self._verify_check_conditions([{'attr': 'status', 'expected': 'ACTIVE', 'current': instance.status}])

    # --- updating -----------------------------------------------------------------------------------------

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: PropertyDiff) -> list[InstanceStep]:
        steps: list[InstanceStep] = []
        if self.NAME in prop_diff:
            steps.append({'do': 'rename', 'name': prop_diff[self.NAME] or self.physical_resource_name()})
        if self.FLAVOR in prop_diff:
            steps.append({'do': 'flavor', 'flavor': prop_diff[self.FLAVOR]})
        if self.SIZE in prop_diff:
            steps.append({'do': 'size', 'size': prop_diff[self.SIZE]})
        if self.DATABASES in prop_diff:
            steps.append({'do': 'databases', 'wanted': [without_none(each)
                                                        for each in prop_diff[self.DATABASES] or ()]})
        if self.USERS in prop_diff:
            before = {user['name']: user['password'] for user in self.properties[self.USERS] or ()}
            wanted = prop_diff[self.USERS] or ()
            steps.append({'do': 'users', 'wanted': [instance_steps.user_body(each) for each in wanted],
                          'passwords': [each['name'] for each in wanted
                                        if before.get(each['name']) != each['password']]})
        return steps

    def check_update_complete(self, steps: list[InstanceStep]) -> bool:
        """Carry out the steps one at a time: each begins when the instance is ACTIVE, and ends when it is again."""
        for step in steps:
            if step.get('done'):
                continue
            if not self._is_active():
                return False
            if step.get('called'):
                step['done'] = True
                continue
            try:
                instance_steps.STEPS[step['do']](self, step)
            except Exception as error:
                if not self.client_plugin().is_over_limit(error):
                    raise
                return False
            step['called'] = True
            return False
        return True

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Fields) -> dict[str, object]:
        live: dict[str, object] = {self.FLAVOR: (resource_data.get('flavor') or {}).get('id'),
                                   self.SIZE: (resource_data.get('volume') or {}).get('size')}
        if resource_properties.get(self.NAME) is not None:
            live[self.NAME] = resource_data.get('name')
        return live

    # --- deleting -----------------------------------------------------------------------------------------

    def handle_delete(self) -> Deletion | None:
        return None if self.resource_id is None else {'asked': self._ask_for_deletion()}

    def _ask_for_deletion(self) -> bool:
        """Return whether the service takes the request: not while it still makes the instance."""
        try:
            with self.client_plugin().ignore_not_found:
                self.client().instances.delete(self.resource_id)
        except Exception as error:
            if http.status_of(error) != NOT_YET:
                raise
            return False
        return True

    def check_delete_complete(self, progress: Deletion | str | None) -> bool:
        """`progress`: an id, if a former release has begun the delete."""
        if progress is None:
            return True
        if self.client_plugin().not_found_in_call(self._shown):
            return True
        if isinstance(progress, dict) and not progress['asked']:
            progress['asked'] = self._ask_for_deletion()
        return False

    def _resolve_attribute(self, name: str) -> object:
        if self.resource_id is None:
            return None
        instance = self.client().instances.get(self.resource_id)
        if name == self.HOSTNAME:
            return getattr(instance, 'hostname', None)
        return next((link['href'] for link in getattr(instance, 'links', ()) if link['rel'] == 'self'), None)


def resource_mapping() -> dict[str, type[Instance]]:
    return {TYPE: Instance}


