"""OS::Heat::SoftwareDeployment and groups of them.

Source: docs/spec/engine.rst, "Software deployments" and "Signals of deployments".

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from oslo_log import log

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine import attributes, resource
from heatlite.engine.properties import Properties, Values
from heatlite.engine.resources import catalogue, group_outputs, signal_responder
from heatlite.engine.resources.openstack.heat import resource_group
from heatlite.engine.resources.openstack.heat.software_component import COMPONENT
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.rpc.software import ConfigEntry, ShownConfig, ShownDeployment

if TYPE_CHECKING:
    from heatlite.language.facts import Nested

LOG = log.getLogger(__name__)

TYPE, GROUP, OLD_GROUP = (
    'OS::Heat::SoftwareDeployment', 'OS::Heat::SoftwareDeploymentGroup', 'OS::Heat::SoftwareDeployments')
DEPLOY = 'deploy_'
UNGROUPED = 'Heat::Ungrouped'           # agents expect the name of a group
ACTIONS = (CREATE, UPDATE, DELETE, SUSPEND, RESUME) = ('CREATE', 'UPDATE', 'DELETE', 'SUSPEND', 'RESUME')


class SoftwareDeployment(signal_responder.SignalResponder):
    """Applies a configuration with input values to a server, and waits for the result."""

    validates_at_creation = True
    default_client_name = 'heat'
    entity = 'software_deployments'
    no_signal_actions = ()
    accepts_any_attribute = True            # the outputs that the config declares
    signal_needs_metadata_updates = False

    PROPERTIES: tuple[str, ...]
    PROPERTIES = (CONFIG, SERVER, INPUT_VALUES, DEPLOY_ACTIONS, NAME, SIGNAL_TRANSPORT) = (
        'config', 'server', 'input_values', 'actions', 'name', 'signal_transport')
    ATTRIBUTES: tuple[str, ...]
    ATTRIBUTES = (STDOUT, STDERR, STATUS_CODE) = ('deploy_stdout', 'deploy_stderr', 'deploy_status_code')
    DEPLOY_STATUSES = (IN_PROGRESS, FAILED, COMPLETE) = ('IN_PROGRESS', 'FAILED', 'COMPLETE')

    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)
    support_status = catalogue.status(TYPE)

    @classmethod
    def is_service_available(cls, context: RequestContext) -> tuple[bool, str | None]:
        """The service is this one."""
        return True, None

    # --- what is deployed ---------------------------------------------------------------------------------

    def _source(self, props: Values | None = None) -> ShownConfig:
        """The config that the template names; an empty one when it names none."""
        config_id = (self.properties if props is None else props)[self.CONFIG]
        if not config_id:
            return {'name': None, 'group': UNGROUPED, 'config': '', 'inputs': [], 'outputs': [], 'options': {}}
        return self.rpc_client().show_software_config(self.context, config_id)

    def _deployment(self) -> ShownDeployment | None:
        """Return the deployment; None if there is none. It has the id of the resource: a server may read it, and
        signal, before the physical id is stored."""
        with self.rpc_client().ignore_error_by_name('NotFound'):
            return self.rpc_client().show_software_deployment(self.context, self.resource_id or str(self.uuid))
        return None

    def _actions(self, source: ShownConfig) -> set[str]:
        """Return the actions at which the config is deployed; for a component, those that its configs name."""
        if source['group'] == COMPONENT:
            config = source['config']
            configs = config.get('configs') if isinstance(config, Mapping) else None
            return {action for entry in configs or () for action in entry['actions']}
        return set(self.properties[self.DEPLOY_ACTIONS] or ())

    def derived_config(self, source: ShownConfig, inputs: list[ConfigEntry]) -> object:
        """For subclasses: the content, given the inputs with their values."""
        return source['config'] or ''

    def derived_inputs(self, source: ShownConfig, action: str) -> list[ConfigEntry]:
        """Return the inputs: the declared ones with their values, further ones that are given, and those that every
        deployment has."""
        values = dict(self.properties[self.INPUT_VALUES] or {})
        found: list[ConfigEntry] = []
        for declaration in source['inputs']:
            entry = declaration.copy()
            entry['value'] = values.pop(entry['name'], entry.get('default'))
            found.append(entry)
        found += [{'name': name, 'type': 'String', 'value': value} for name, value in values.items()]
        return found + [{'name': name, 'type': 'String', 'value': value, 'description': about}
                        for name, value, about in self._derived_inputs(action)]

    def _derived_inputs(self, action: str) -> Iterator[tuple[str, object, str]]:
        """(name, value, description)."""
        yield 'deploy_server_id', self.properties[self.SERVER], _('Id of the server this is deployed to.')
        yield 'deploy_action', action, _('Action of the stack this is deployed for.')
        yield 'deploy_stack_id', self.stack.identifier().stack_path(), _('Name and id of the stack.')
        yield 'deploy_resource_name', self.name, _('Name of the deployment in the stack.')
        yield 'deploy_signal_transport', self._transport(), _('How the server tells what came of it.')
        match self._transport():
            case self.CFN_SIGNAL:
                yield 'deploy_signal_id', self._new_signed_url(), _('Address to signal to.')
                yield 'deploy_signal_verb', 'POST', _('Verb to signal with.')
            case self.TEMP_URL_SIGNAL:
                yield 'deploy_signal_id', self._get_swift_signal_url(), _('Address to put the signal to.')
                yield 'deploy_signal_verb', 'PUT', _('Verb to signal with.')
            case self.HEAT_SIGNAL | self.ZAQAR_SIGNAL as way:
                yield from self._login()
                if way == self.ZAQAR_SIGNAL:
                    yield 'deploy_queue_id', self._get_zaqar_signal_queue_id(), _('Queue to post the signal to.')

    def _new_signed_url(self) -> str | None:
        """Signed for this deployment, without a time: a server may boot, and a script run, for longer than a signature
        with a time is accepted. Its key ends with the deployment. Former releases stored one with the time of the first
        deployment."""
        self.data_delete(signal_responder.SIGNED_URL)
        return self._get_ec2_signed_url(never_expire=True)

    def _login(self) -> Iterator[tuple[str, object, str]]:
        found = self._get_heat_signal_credentials()
        for name in ('auth_url', 'username', 'user_id', 'password', 'project_id'):
            yield f'{DEPLOY}{name}', found[name], _('For logging in: %s.') % name
        if found['region_name']:
            yield f'{DEPLOY}region_name', found['region_name'], _('For logging in: region_name.')

    def _derived_name(self, source: ShownConfig) -> str:
        """Servers run what is deployed in the order of these names."""
        return str(self.properties[self.NAME] or source['name'] or self.physical_resource_name())

    def _makes_addresses(self) -> bool:
        """Return whether the action deploys something. Only then users and URLs for signals are made, also in a
        deletion."""
        return True

    # --- life ---------------------------------------------------------------------------------------------

    def _handle_action(self, action: str) -> dict[str, object] | None:
        """None when there is nothing to wait for."""
        source = self._source()
        if action not in self._actions(source):
            return None
        inputs = self.derived_inputs(source, action)
        config: ShownConfig = {
            'name': self._derived_name(source), 'group': source['group'] or UNGROUPED, 'options': source['options'],
            'config': self.derived_config(source, inputs), 'inputs': inputs, 'outputs': source['outputs']}
        status, reason = (
            (self.COMPLETE, _('Not waiting for outputs signal')) if self._signal_transport_none()
            else (self.IN_PROGRESS, _('Deploy data available')))
        if self._signal_transport_temp_url():
            self._pass_over_former_answers()
        made = self.rpc_client().deploy(
            self.context, self.resource_id or str(self.uuid), self.properties[self.SERVER], config, action=action,
            input_values=dict(self.properties[self.INPUT_VALUES] or {}), status=status, status_reason=reason,
            stack_user_project_id=self.stack.stack_user_project_id)
        if self.resource_id is None:
            self.resource_id_set(made['id'])
        return {'id': made['id']} if status == self.IN_PROGRESS else None

    def _pass_over_former_answers(self) -> None:
        """A deployment with a result is one of before. One without may be this one, begun before a crash.

        Heat leaves the result of the former one in the object, too, and notes no times: of a deployment that it has
        begun over a former one, answers are later than its start.
        """
        found = self._deployment()
        if found is None:
            return
        if found['status'] != self.IN_PROGRESS:
            self._pass_over_swift_signals()
        elif found['action'] != CREATE and 'updated_time' in found and not self._has_noted_swift_signals():
            self._pass_over_swift_signals(until=found['updated_time'])

    def find_existing(self) -> str | None:
        """Return the id of the resource, which is also that of the deployment; None if there is no deployment."""
        with self.rpc_client().ignore_error_by_name('NotFound'):
            return str(self.rpc_client().show_software_deployment(self.context, str(self.uuid))['id'])
        return None

    def handle_create(self) -> object:
        return self._handle_action(CREATE)

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> object:
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        return self._handle_action(UPDATE)

    def handle_suspend(self) -> object:
        return self._handle_action(SUSPEND)

    def handle_resume(self) -> object:
        return self._handle_action(RESUME)

    def handle_delete(self) -> object:
        waiting = None
        with self.rpc_client().ignore_error_by_name('NotFound'):
            waiting = self._handle_action(DELETE)
        if waiting is None:
            self._withdraw()
        return waiting

    def _withdraw(self) -> None:
        if self.resource_id is not None:
            self.rpc_client().withdraw(self.context, self.resource_id)
        self._delete_signals()
        self._delete_user()

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: Properties,
                                     before_props: Properties) -> bool:
        """An input that says so has another value now."""
        if not changed_properties_set & {self.CONFIG, self.INPUT_VALUES}:
            return False
        deployment = self._deployment()
        if deployment is None:
            return False
        derived = self.rpc_client().show_software_config(self.context, deployment['config_id'])
        before = {entry['name']: entry.get('value') for entry in derived['inputs']}
        given = after_props[self.INPUT_VALUES] or {}
        return any(_replaces(entry) and entry['name'] in before
                   and before[entry['name']] != given.get(entry['name'], entry.get('default'))
                   for entry in self._source(after_props)['inputs'])

    # --- waiting ------------------------------------------------------------------------------------------

    def check_create_complete(self, waiting: object) -> bool:
        return self._is_over()

    def check_update_complete(self, waiting: object) -> bool:
        return waiting is None or self._is_over()

    def check_suspend_complete(self, waiting: object) -> bool:
        return waiting is None or self._is_over()

    def check_resume_complete(self, waiting: object) -> bool:
        return waiting is None or self._is_over()

    def check_delete_complete(self, waiting: object) -> bool:
        """A server that is gone will not answer any more."""
        if waiting is None:
            return True
        with self.rpc_client().ignore_error_by_name('NotFound'):
            if not self._is_over() and not self._server_is_gone():
                return False
        self._withdraw()
        return True

    def _is_over(self) -> bool:
        """Raise Error when the server said that it failed."""
        if self.resource_id is None:
            return True
        found = self.rpc_client().show_software_deployment(self.context, self.resource_id)
        if found['status'] == self.IN_PROGRESS:
            self._service_signal(multiple_signals=False)
            found = self.rpc_client().show_software_deployment(self.context, self.resource_id)
        if found['status'] == self.FAILED:
            raise exception.Error(_('Deployment to server failed: %s') % found['status_reason'])
        return bool(found['status'] == self.COMPLETE)

    def _server_is_gone(self) -> bool:
        plugin = self.client_plugin('nova')
        try:
            self.client('nova').servers.get(self.properties[self.SERVER])
        except Exception as error:              # whatever else is wrong with Nova: then we wait
            return bool(plugin is not None and plugin.is_not_found(error))
        return False

    # --- cancelling ---------------------------------------------------------------------------------------

    def _cancel(self) -> None:
        found = self._deployment()
        if found is not None and found['status'] == self.IN_PROGRESS:
            self.rpc_client().update_software_deployment(
                self.context, found['id'], status=self.FAILED, status_reason=_('Deployment cancelled.'))

    def handle_create_cancel(self, waiting: object) -> None:
        self._cancel()

    def handle_update_cancel(self, waiting: object) -> None:
        self._cancel()

    def handle_delete_cancel(self, waiting: object) -> None:
        self._cancel()

    def handle_suspend_cancel(self, waiting: object) -> None:
        self._cancel()

    def handle_resume_cancel(self, waiting: object) -> None:
        self._cancel()

    # --- signals ------------------------------------------------------------------------------------------

    def handle_signal(self, details: object = None) -> str | None:
        """Store the result that the server reports, if the deployment is in progress. Return a text for the event; None
        if nothing was stored."""
        said: str | None = self.rpc_client().signal_software_deployment(
            self.context, self.resource_id or str(self.uuid), details)
        return said

    # --- attributes ---------------------------------------------------------------------------------------

    def get_attribute(self, key: str, *path: object) -> object:
        """Outputs, declared ones and those that every deployment has. None until they are known."""
        found = self._deployment()
        known: Mapping[str, object] = (found['output_values'] if found is not None else None) or {}
        if key in known:
            return attributes.select_from_attribute(known[key], path)
        if key in self.attributes_schema or key == attributes.SHOW_ATTR:
            return found if key == attributes.SHOW_ATTR else None
        source = self._source()
        if any(entry['name'] == key for entry in source['outputs']):
            return None
        raise exception.InvalidTemplateAttribute(resource=self.name, key=key)

    shows_none_when_gone = True

    def _show_resource(self) -> object:
        return self._deployment()

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Mapping[str, object]) -> dict[str, object]:
        """Return no differences: a deployment is stored in our database, and only its stack changes it."""
        return {}

    # --- checks -------------------------------------------------------------------------------------------

    def validate(self) -> object:
        """A server of the same stack must be one whose agents fetch what is deployed."""
        found = super().validate()
        for name in self.t.requires or ():
            server = self.stack.get(name)
            format_key = getattr(server, 'USER_DATA_FORMAT', None)
            if server is None or format_key is None or format_key not in server.properties_schema:
                continue
            wanted = getattr(server, 'SOFTWARE_CONFIG', None)
            if self.SERVER in self.t.deferred and len(self._servers_named()) == 1:
                given = server.properties.given.get(format_key)
                if given is None:
                    given = server.properties[format_key]       # the operator chooses the default
                if isinstance(given, str) and given != wanted:
                    raise exception.StackValidationFailed(message=_(
                        "Resource %(name)s's property %(key)s should be set to %(wanted)s given there are software "
                        'deployments on it.') % {'name': server.name, 'key': format_key, 'wanted': wanted})
        return found

    def _servers_named(self) -> list[str]:
        return [name for name in self.t.requires or () if hasattr(self.stack.get(name), 'USER_DATA_FORMAT')]


class SoftwareDeploymentGroup(resource_group.ResourceGroup):
    """Applies a configuration to each of several servers."""

    PROPERTIES: tuple[str, ...]
    PROPERTIES = (SERVERS, CONFIG, INPUT_VALUES, DEPLOY_ACTIONS, NAME, SIGNAL_TRANSPORT) = (
        'servers', 'config', 'input_values', 'actions', 'name', 'signal_transport')
    ATTRIBUTES: tuple[str, ...]
    ATTRIBUTES = (STDOUTS, STDERRS, STATUS_CODES) = ('deploy_stdouts', 'deploy_stderrs', 'deploy_status_codes')
    member_attributes = group_outputs.MemberAttributes(plurals={
        STDOUTS: 'deploy_stdout', STDERRS: 'deploy_stderr', STATUS_CODES: 'deploy_status_code'})
    member_type = TYPE
    member_properties: tuple[str, ...] = ('config', 'input_values', 'actions', 'name', 'signal_transport')
    nested_members: Nested | None = None    # their attributes are the outputs of a config: known when it is there

    properties_schema = catalogue.properties(GROUP)
    attributes_schema = catalogue.attribute_schemata(GROUP)
    update_policy_schema = catalogue.update_policy(GROUP)
    support_status = catalogue.status(GROUP)

    # --- members ------------------------------------------------------------------------------------------

    def get_size(self) -> int:
        return len(self.properties[self.SERVERS] or {})

    def _resource_names(self, size: int | None = None) -> Iterator[str]:
        names = [str(name) for name in self.properties[self.SERVERS] or {}]
        return iter(names if size is None else names[:size])

    def get_resource_def(self, include_all: bool = False) -> dict[str, object]:
        given = {name: self.properties[name] for name in self.member_properties}
        return {'type': self.member_type, 'properties': {
            name: value for name, value in given.items() if value is not None or include_all}}

    def build_resource_definition(self, res_name: str, res_defn: Values) -> Values:
        servers = self.properties[self.SERVERS] or {}
        return {**res_defn, 'properties': {**res_defn['properties'], 'server': servers.get(res_name)}}

    def res_def_changed(self, prop_diff: Mapping[str, object]) -> bool:
        return True

    def _removed(self) -> set[str]:
        return set()

    def _note_removals(self) -> None:
        """Servers are named, not numbered."""


class SoftwareDeployments(SoftwareDeploymentGroup):
    """The name that SoftwareDeploymentGroup had in former years."""

    properties_schema = catalogue.properties(OLD_GROUP)
    attributes_schema = catalogue.attribute_schemata(OLD_GROUP)
    update_policy_schema = catalogue.update_policy(OLD_GROUP)
    support_status = catalogue.status(OLD_GROUP)


def _replaces(entry: ConfigEntry) -> bool:
    """Whether another value of the input replaces the deployment. Configs stored earlier may have a text there."""
    return str(entry.get('replace_on_change', False)).lower() == 'true'


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: SoftwareDeployment, GROUP: SoftwareDeploymentGroup, OLD_GROUP: SoftwareDeployments}
