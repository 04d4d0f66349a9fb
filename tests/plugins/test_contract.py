"""Every name of the plug-in contract is there, under the name plug-ins import it by."""

from __future__ import annotations

import importlib

import pytest

from heatlite.engine.compat import aliases

CONTRACT = {                                # module -> names (docs/spec/plugins.rst, all sections)
    'heat.engine.resource': 'Resource UpdateReplace NoActionRequired PollDelay ResourceInError ResourceUnknownStatus '
                            'DELETION_POLICY DELETE RETAIN SNAPSHOT Metadata get_types get_class',
    'heat.engine.properties': 'Schema Properties Property schemata TranslationRule STRING NUMBER INTEGER BOOLEAN MAP '
                              'LIST SCHEMA_KEYS InvalidSchemaError',
    'heat.engine.attributes': 'Schema Attributes select_from_attribute SHOW_ATTR BASE_ATTRIBUTES ALL_ATTRIBUTES',
    'heat.engine.constraints': 'Range Length Modulo AllowedValues AllowedPattern CustomConstraint '
                               'BaseCustomConstraint Schema Constraint InvalidSchemaError',
    'heat.engine.support': 'SupportStatus UNKNOWN SUPPORTED DEPRECATED UNSUPPORTED HIDDEN PROTOTYPE SUPPORT_STATUSES '
                           'is_valid_status',
    'heat.engine.translation': 'TranslationRule',
    'heat.engine.rsrc_defn': 'ResourceDefinition DELETION_POLICIES DELETE RETAIN SNAPSHOT FIELDS TYPE PROPERTIES '
                             'METADATA DEPENDS_ON DELETION_POLICY UPDATE_POLICY DESCRIPTION EXTERNAL_ID',
    'heat.engine.node_data': 'NodeData',
    'heat.engine.software_config_io': 'InputConfig OutputConfig check_io_schema_list input_config_schema '
                                      'output_config_schema IO_NAME DESCRIPTION TYPE DEFAULT VALUE ERROR_OUTPUT TYPES',
    'heat.engine.clients.client_exception': 'EntityMatchNotFound EntityUniqueMatchNotFound InterfaceNotFound',
    'heat.engine.resources.openstack.octavia.octavia_base': 'OctaviaBase',
    'heat.engine.resources.openstack.keystone.role_assignments':
        'KeystoneRoleAssignmentMixin KeystoneUserRoleAssignment KeystoneGroupRoleAssignment',
    'heat.engine.resources.openstack.neutron.neutron':
        'NeutronResource ALLOWED_SECURITY_GROUP_PROTOCOLS SECURITY_GROUP_PROTOCOL_DESCRIPTION',
    'heat.rpc.api': 'STACK_KEYS STACK_NAME STACK_STATUS OUTPUT_VALUE RES_KEYS RES_STATUS_DATA EVENT_TIMESTAMP '
                    'PARAM_TIMEOUT SOFTWARE_CONFIG_CONFIG SOFTWARE_DEPLOYMENT_OUTPUT_VALUES SNAPSHOT_ID',
    'heat.engine.function': 'Function Macro resolve validate dependencies dep_attrs',
    'heat.engine.scheduler': 'TaskRunner Timeout TimedCancel DependencyTaskGroup ExceptionGroup ENABLE_SLEEP '
                             'wrappertask PollingTaskGroup',
    'heat.engine.dependencies': 'Dependencies',
    'heat.engine.lifecycle_plugin': 'LifecyclePlugin',
    'heat.engine.environment': 'Environment HOOK_TYPES PARAMETERS RESOURCE_REGISTRY SECTIONS',
    'heat.engine.template': 'Template',
    'heat.engine.parser': 'Stack Template',
    'heat.engine.stack': 'Stack',
    'heat.engine.parameters': 'Parameters',
    'heat.engine.clients': 'Clients OpenStackClients has_client initialise list_opts',
    'heat.engine.clients.client_plugin': 'ClientPlugin ExceptionFilter',
    'heat.engine.clients.os': 'ExtensionMixin MEMOIZE_EXTENSIONS MEMOIZE_FINDER',
    'heat.engine.clients.microversion_mixin': 'MicroversionMixin',
    'heat.engine.clients.progress': 'ServerCreateProgress ServerUpdateProgress ServerDeleteProgress '
                                    'VolumeDetachProgress VolumeAttachProgress',
    'heat.engine.plugins': '',
    'heat.common.i18n': '_ _LE _LI _LW _LC',
    'heat.common.template_format': 'parse simple_parse convert_json_to_yaml yaml yaml_loader yaml_dumper',
    'heat.common.timeutils': 'parse_isoduration retry_backoff_delay isotime Duration',
    'heat.common.short_id': 'generate_id get_id',
    'heat.common.crypt': 'encrypt decrypt encrypted_dict decrypted_dict',
    'heat.common.password_gen': 'generate_password generate_openstack_password named_char_class special_char_class',
    'heat.common.config': 'get_client_option get_ssl_options',
    'heat.common.urlfetch': 'get URLFetchError',
    'heat.common.netutils': 'is_prefix_subset validate_dns_format',
    'heat.common.param_utils': 'extract_bool extract_int extract_tags',
    'heat.common.environment_format': 'SECTIONS PARAMETERS RESOURCE_REGISTRY parse validate',
    'heat.common.identifier': 'HeatIdentifier ResourceIdentifier EventIdentifier',
    'heat.common.context': 'RequestContext',
    'heat.common.exception':
        'Error HeatException StackValidationFailed ResourceFailure UpdateReplace ResourceInError '
        'ResourceUnknownStatus NotFound EntityNotFound ResourceNotFound ResourceNotAvailable '
        'InvalidTemplateAttribute InvalidTemplateReference InvalidSchemaError NotSupported '
        'ResourceActionNotSupported ResourcePropertyConflict ResourcePropertyDependency '
        'ResourcePropertyValueDependency PropertyUnspecifiedError PhysicalResourceExists '
        'PhysicalResourceNameAmbiguity AuthorizationFailure Forbidden NotAuthenticated Invalid TemplateOutputError '
        'UserParameterMissing MissingCredentialError ClientNotAvailable InvalidServiceVersion '
        'ResourceTypeUnavailable RequestLimitExceeded StackResourceLimitExceeded StackExists ActionInProgress '
        'CircularDependencyException ConcurrentTransaction UpdateInProgress InterfaceAttachFailed '
        'InterfaceDetachFailed UnableToAutoAllocateNetwork EgressRuleNotAllowed StackNotFound ServiceNotFound '
        'ResourceTypeNotFound PhysicalResourceNotFound WatchRuleNotFound FlavorMissing UserKeyPairMissing '
        'NovaNetworkNotFound InvalidTemplateParameter NoActionRequired KeystoneError RegionAmbiguity',
    'heat.openstack.common.log': 'getLogger',
    'heat.openstack.common.gettextutils': '_',
    'heat.openstack.common.timeutils': 'strtime is_older_than utcnow',
    'heat.openstack.common.importutils': 'import_class try_import',
    'heat.openstack.common.jsonutils': 'dumps loads',
    'heat.openstack.common.excutils': 'save_and_reraise_exception',
    'heat.openstack.common.uuidutils': 'generate_uuid',
    'heat.openstack.common.strutils': 'bool_from_string',
    'heat.openstack.common.processutils': 'execute',
    'oslo.config.cfg': 'CONF StrOpt',
    'oslo.utils.timeutils': 'utcnow',
}
RESOURCE = '''
    properties_schema attributes_schema update_policy_schema base_attributes_schema support_status default_client_name
    entity required_service_extension update_allowed_properties physical_resource_name_limit strict_dependency
    requires_deferred_auth no_signal_actions signal_needs_metadata_updates always_replace_on_check_failed
    ACTIONS INIT CREATE DELETE UPDATE ROLLBACK SUSPEND RESUME ADOPT SNAPSHOT CHECK STATUSES IN_PROGRESS FAILED COMPLETE
    LOCK_NONE LOCK_ACQUIRE LOCK_RELEASE LOCK_RESPECT
    stack properties attributes update_policy state external_id
    resource_id_set physical_resource_name reduce_physical_resource_name client client_plugin keystone nova swift
    neutron cinder trove heat glance data data_set data_delete metadata_get metadata_set type identifier has_interface
    get_reference_id FnGetRefId get_attribute FnGetAtt frozen_definition frozen_properties reparse translate_properties
    state_set state_reset _add_event store signal required_by referenced_attrs _verify_check_conditions
    calc_update_allowed update_template_diff update_template_diff_properties has_nested nested nested_identifier getdoc
    is_service_available resource_to_template validate_deletion_policy
    handle_update handle_delete handle_adopt handle_preempt handle_metadata_reset metadata_update validate
    validate_template _resolve_attribute _show_resource _resolve_any_attribute add_dependencies
    add_explicit_dependencies needs_replace needs_replace_with_prop_diff needs_replace_with_tmpl_diff
    needs_replace_failed _needs_update prepare_for_replace restore_prev_rsrc translation_rules get_live_state
    get_live_resource_data parse_live_resource_data regenerate_info_schema cancel_grace_period preview prepare_abandon
    get_nested_parameters_stack
    metadata parsed_template FnBase64 FnGetAtts dep_attrs is_using_neutron get_abandon_data ceilometer
    restore_after_rollback set_requires set_deletion_policy resource_class implementation_signature
    physical_resource_name_or_FnGetRefId node_data has_hook clear_hook
'''
INSTANCE = '''
    context name t resource_id id uuid action status status_reason created_time updated_time requires replaces
    replaced_by current_template_id old_template_id root_stack_id abandon_in_progress converge
'''


@pytest.mark.parametrize('name', CONTRACT)
def test_names_of_modules(name):
    aliases.install()
    module = importlib.import_module(name)
    assert [wanted for wanted in CONTRACT[name].split() if not hasattr(module, wanted)] == []


def test_names_of_a_resource(types):
    from tests.plugins.bench import Bench
    made = Bench('OS::Heat::TestResource').create()
    kind = type(made)
    assert [name for name in RESOURCE.split() if not hasattr(kind, name)] == []
    assert [name for name in INSTANCE.split() if not hasattr(made, name)] == []


def test_names_of_a_definition():
    from heatlite.engine.rsrc_defn import ResourceDefinition
    wanted = '''properties update_policy metadata deletion_policy external_id condition dependencies
        required_resource_names dep_attrs freeze reparse render_hot validate set_translation_rules'''
    assert [name for name in wanted.split() if not hasattr(ResourceDefinition, name)] == []


def test_names_of_client_plugins():
    from heatlite.engine.clients.client_plugin import ClientPlugin
    wanted = '''exceptions_module service_types default_version supported_versions context clients client url_for
        _get_client_option _get_region_name is_client_exception is_not_found is_over_limit is_conflict
        does_endpoint_exist has_extension ignore_not_found ignore_conflict_and_not_found auth_token invalidate'''
    assert [name for name in wanted.split() if not hasattr(ClientPlugin, name)] == []
