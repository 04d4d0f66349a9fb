"""AWS::RDS::DBInstance: a database server of Trove's, in a stack of its own.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources import catalogue, stack_resource
from heatlite.language.unknown import UNKNOWN

TYPE = 'AWS::RDS::DBInstance'
DATASTORE = {'MySQL': 'mysql'}              # engine -> as Trove calls it
CLASS_PREFIX = 'db.'                        # of Amazon's names; a flavor is named without it, unless one is named so
PORT = '3306'                               # where it listens; Trove leaves no choice
SERVER = 'server'                           # resource of the nested stack
SHOWN = 'shown'                             # output of the nested stack: the server as Trove shows it


def _is_known(value: object) -> bool:
    """False for a value that depends on a resource that does not exist yet, and for null."""
    return value is not None and value is not UNKNOWN


class DBInstance(stack_resource.StackResource):
    """A server with one database and its user. Users cannot log in to servers of Trove, so KeyName has no effect."""

    validates_at_creation = True
    accepts_any_attribute = False           # the outputs of the nested stack are its own affair
    own_names = (SERVER,)
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (SIZE, CLASS, DATABASE, GROUPS, ENGINE, KEY, PASSWORD, USER, PORT_NUMBER) = (
        'AllocatedStorage', 'DBInstanceClass', 'DBName', 'DBSecurityGroups', 'Engine', 'KeyName', 'MasterUserPassword',
        'MasterUsername', 'Port')
    ATTRIBUTES = (ADDRESS, ENDPOINT_PORT) = ('Endpoint.Address', 'Endpoint.Port')

    def validate(self) -> object:
        """Raise StackValidationFailed for what Trove cannot do."""
        found = super().validate()
        if _is_known(self.properties[self.GROUPS]) and self.properties[self.GROUPS]:
            raise exception.StackValidationFailed(message=_('%s: a database of this cloud takes no security groups')
                                                  % self.GROUPS)
        port = self.properties[self.PORT_NUMBER]
        if _is_known(port) and port not in ('', PORT):
            raise exception.StackValidationFailed(message=_('%(name)s: a database of this cloud listens at %(port)s')
                                                  % {'name': self.PORT_NUMBER, 'port': PORT})
        return found

    def child_template(self) -> dict[str, object]:
        props = self.properties
        return {
            'heat_template_version': '2018-08-31',
            'resources': {SERVER: {'type': 'OS::Trove::Instance', 'properties': {
                'flavor': self._flavor(), 'size': props[self.SIZE],
                'datastore_type': DATASTORE.get(props[self.ENGINE]),
                'databases': [{'name': props[self.DATABASE]}],
                'users': [{'name': props[self.USER], 'password': props[self.PASSWORD],
                           'databases': [props[self.DATABASE]]}]}}},
            'outputs': {SHOWN: {'value': {'get_attr': [SERVER, 'show']}}}}

    def _flavor(self) -> object:
        """The flavor that DBInstanceClass names: `db.m1.small` is m1.small where no flavor has the whole name."""
        given = self.properties[self.CLASS]
        if not isinstance(given, str) or not given.startswith(CLASS_PREFIX):
            return given
        try:
            self.client_plugin('trove').find_flavor_by_name_or_id(given)
        except exception.EntityNotFound:
            return given.removeprefix(CLASS_PREFIX)
        return given

    def _resolve_attribute(self, name: str) -> object:
        if self.resource_id is None:
            return None
        if name == self.ENDPOINT_PORT:
            return PORT
        shown = self.get_output(SHOWN)
        if not isinstance(shown, Mapping):
            return None
        return shown.get('hostname') or next(iter(shown.get('ip') or ()), None)


def resource_mapping() -> dict[str, type[DBInstance]]:
    return {TYPE: DBInstance}
