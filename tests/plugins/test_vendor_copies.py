"""What vendors' types, and their copies of Heat's modules, are made of."""

from __future__ import annotations

import importlib
import itertools

import pytest

from heatlite.common import exception, password_gen
from heatlite.engine import attributes, properties, resource
from heatlite.engine.compat import aliases, rpc_names
from heatlite.engine.resources import octavia_base, role_assignments, software_config_io
from heatlite.engine.resources.openstack.neutron import neutron
from heatlite.engine.resources.openstack.nova import server_network_mixin
from tests.plugins.bench import Bench

S = properties.Schema


class Busy(Exception):
    pass


class Gone(Exception):
    pass


class Plugin:
    """A client plug-in of a service that is busy for its first call of each kind."""

    def is_conflict(self, error):
        return isinstance(error, Busy)

    def is_not_found(self, error):
        return isinstance(error, Gone)

    def get_role_id(self, name):
        return f'id-of-{name}'

    get_project_id = get_domain_id = get_role_id


class Balancer(octavia_base.OctaviaBase):
    properties_schema = {'name': S(S.STRING, update_allowed=True)}
    attributes_schema = {'vip': attributes.Schema('Its address.')}
    calls: list = []
    states: list = []

    @classmethod
    def is_service_available(cls, context):
        return True, None

    def client_plugin(self, name=None):
        return Plugin()

    def _called(self, *call):
        self.calls.append(call)
        if [each[0] for each in self.calls].count(call[0]) == 1:
            raise Busy

    def _prepare_args(self, properties):
        return {'name': properties['name']}

    def _resource_create(self, arguments):
        self._called('create', arguments)
        return {'id': 'b1'}

    def _resource_update(self, changes):
        self._called('update', changes)

    def _resource_delete(self):
        self._called('delete')

    def _show_resource(self):
        state = self.states.pop(0) if self.states else 'ACTIVE'
        if state == 'GONE':
            raise Gone
        return {'provisioning_status': state, 'vip': '10.0.0.1'}


@pytest.fixture
def balancer(types):
    Balancer.calls, Balancer.states = [], []
    types.register('Acme::Balancer', Balancer)
    return Bench('Acme::Balancer', {'name': 'a'})


def turns(made, check, cookie, most=9):
    return list(itertools.takewhile(lambda done: not done, (check(made, cookie) for _turn in range(most))))


def test_a_type_of_octavia_waits_while_its_service_is_busy(balancer):
    made = balancer.fresh('CREATE')
    Balancer.states = ['PENDING_CREATE', 'ACTIVE']
    assert turns(made, Balancer.check_create_complete, made.handle_create()) == [False, False]
    assert Balancer.calls == [('create', {'name': 'a'})] * 2 and made.resource_id == 'b1'
    assert made._resolve_attribute('vip') == '10.0.0.1'
    Balancer.states = ['PENDING_UPDATE']
    assert turns(made, Balancer.check_update_complete, made.handle_update(None, None, {'name': 'b'})) == [False, False]
    assert Balancer.calls[2:] == [('update', {'name': 'b'})] * 2
    assert made.check_update_complete({}) and len(Balancer.calls) == 4
    Balancer.states = ['PENDING_UPDATE', 'PENDING_DELETE', 'GONE']
    assert turns(made, Balancer.check_delete_complete, made.handle_delete()) == [False, False]
    assert Balancer.calls[4:] == [('delete',)] * 2
    Balancer.states = ['ERROR']
    with pytest.raises(exception.ResourceInError, match='Went to status ERROR'):
        made.check_create_complete({})


class Assignment:
    def __init__(self, role, scope):
        self.body = {'role': {'id': role}, 'scope': scope}

    def to_dict(self):
        return self.body


class Roles:
    def __init__(self, assignments):
        self.calls, self.assignments = [], assignments
        self.roles = self.role_assignments = self

    def grant(self, **where):
        self.calls.append(('grant', where))

    def revoke(self, **where):
        self.calls.append(('revoke', where))

    def list(self, **holder):
        assert holder == {'user': 'u'}
        return self.assignments


class Holder(resource.Resource, role_assignments.KeystoneRoleAssignmentMixin):
    default_client_name = 'keystone'
    properties_schema = dict(role_assignments.KeystoneRoleAssignmentMixin.mixin_properties_schema)
    keystone_roles = None

    def client(self, name=None, version=None):
        return self.keystone_roles

    def client_plugin(self, name=None):
        return Plugin()


def holder(types, *assignments):
    types.register('Acme::Holder', Holder)
    return Bench('Acme::Holder', {'roles': list(assignments)}).fresh('CREATE')


def test_roles_are_granted_and_taken_back(types):
    admin, reader = {'role': 'admin', 'project': 'p'}, {'role': 'reader', 'domain': 'd'}
    made = holder(types, admin, reader)
    made.keystone_roles = Roles([Assignment('id-of-admin', {'project': {'id': 'id-of-p'}}),
                                 Assignment('id-of-other', {'domain': {'id': 'id-of-d'}})])
    made.validate_assignment_properties()
    made.create_assignment(user_id='u')
    granted = {'role': 'id-of-admin', 'project': 'id-of-p', 'user': 'u'}
    assert made.keystone_roles.calls == [
        ('grant', granted), ('grant', {'role': 'id-of-reader', 'domain': 'id-of-d', 'user': 'u'})]
    made.keystone_roles.calls.clear()
    made.update_assignment({}, user_id='u')
    made.update_assignment({'roles': [reader, {'role': 'owner', 'project': 'p'}]}, user_id='u')
    assert made.keystone_roles.calls == [
        ('grant', {'role': 'id-of-owner', 'project': 'id-of-p', 'user': 'u'}), ('revoke', granted)]
    made.keystone_roles.calls.clear()
    made.delete_assignment(user_id='u')         # the other role was taken back by somebody else
    assert made.keystone_roles.calls == [('revoke', granted)]


@pytest.mark.parametrize('entry, error', [
    ({'role': 'r'}, exception.StackValidationFailed),
    ({'role': 'r', 'project': 'p', 'domain': 'd'}, exception.ResourcePropertyConflict)])
def test_a_role_is_granted_in_a_project_or_in_a_domain(types, entry, error):
    with pytest.raises(error):
        holder(types, entry).validate_assignment_properties()


def test_the_module_of_role_assignments_has_the_types_too():
    aliases.install()
    module = importlib.import_module('heat.engine.resources.openstack.keystone.role_assignments')
    assert module.KeystoneRoleAssignmentMixin is role_assignments.KeystoneRoleAssignmentMixin
    assert issubclass(module.KeystoneUserRoleAssignment, resource.Resource)


def test_inputs_and_outputs_of_configs():
    made = software_config_io.InputConfig(name='size', type='Number', default=3, value=5)
    assert (made.name(), made.default(), made.replace_on_change(), made.input_data()) == ('size', 3, False, ('size', 5))
    assert made.as_dict() == {'name': 'size', 'type': 'Number', 'default': 3, 'value': 5}
    assert software_config_io.InputConfig(name='n').input_data() == ('n', None)
    assert software_config_io.InputConfig(name='n', type='Json', default='').as_dict()['default'] == ''
    assert software_config_io.InputConfig(name='n', type='CommaDelimitedList', default='a,b').default() == ['a', 'b']
    out = software_config_io.OutputConfig(name='code', error_output=True)
    assert out.error_output() and out.as_dict() == {'name': 'code', 'type': 'String', 'error_output': True}
    for wrong in ({}, {'name': 'n', 'type': 'Text'}, {'name': 'n', 'type': 'Number', 'default': 'x'}):
        with pytest.raises(ValueError):
            software_config_io.InputConfig(**wrong)


@pytest.mark.parametrize('wrong', ['text', {'name': 'n'}, ['n'], None])
def test_declarations_are_a_list_of_maps(wrong):
    software_config_io.check_io_schema_list([{'name': 'n'}])
    with pytest.raises(TypeError):
        software_config_io.check_io_schema_list(wrong)


def test_keys_of_what_the_engine_returns():
    assert rpc_names.NAMES['STACK_KEYS'][:2] == ('stack_name', 'stack_identity')
    assert {name: rpc_names.NAMES[name] for name in (
        'STACK_ACTION', 'RES_NAME', 'OUTPUT_KEY', 'RESOLVE_OUTPUTS', 'SOFTWARE_DEPLOYMENT_OUTPUT_STDOUT')} == {
        'STACK_ACTION': 'stack_action', 'RES_NAME': 'resource_name', 'OUTPUT_KEY': 'output_key',
        'RESOLVE_OUTPUTS': 'resolve_outputs', 'SOFTWARE_DEPLOYMENT_OUTPUT_STDOUT': 'deploy_stdout'}


def test_the_network_part_of_servers_may_stand_after_the_base():
    class Own(resource.Resource, server_network_mixin.ServerNetworkMixin):
        pass

    assert Own._validate_network is server_network_mixin.ServerNetworkMixin._validate_network


def test_protocols_of_security_groups():
    assert {0, 255, 'tcp', 'ipv6-icmp'} <= set(neutron.ALLOWED_SECURITY_GROUP_PROTOCOLS)
    assert 'udplite' in neutron.SECURITY_GROUP_PROTOCOL_DESCRIPTION


def test_names_of_classes_of_characters():
    assert password_gen.CHARACTER_CLASSES == (
        'lettersdigits', 'letters', 'lowercase', 'uppercase', 'digits', 'hexdigits', 'octdigits')
    assert password_gen.CHARACTER_CLASSES.index(password_gen.DIGITS) == 4
    assert password_gen.named_char_class('octdigits').allowed_chars == '01234567'
