"""Tables of names that plug-ins of 2013 to 2020 import, and of their present places.

Source: docs/spec/plugins.rst, "Former names".

`aliases` makes modules from these tables when a plug-in imports one; heatlite itself uses none of them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.compat import rpc_names
from heatlite.language.environment import Environment

# Module, without its first name `heat.` -> present module.
MOVED: dict[str, str] = {
    'openstack.common.log': 'oslo_log.log',
    'openstack.common.gettextutils': 'heatlite.common.i18n',
    'openstack.common.importutils': 'oslo_utils.importutils',
    'openstack.common.jsonutils': 'oslo_serialization.jsonutils',
    'openstack.common.excutils': 'oslo_utils.excutils',
    'openstack.common.uuidutils': 'oslo_utils.uuidutils',
    'openstack.common.strutils': 'oslo_utils.strutils',
    'openstack.common.versionutils': 'oslo_log.versionutils',
    'openstack.common.processutils': 'oslo_concurrency.processutils',
    'common.heat_keystoneclient': 'heatlite.engine.clients.os.keystone.heat_keystoneclient',
    'engine.parameters': 'heatlite.language.parameters',
    'engine.conditions': 'heatlite.language.conditions',
    'engine.template': 'heatlite.language.template',
    'engine.hot.template': 'heatlite.engine.compat.template_classes',
    'engine.cfn.template': 'heatlite.engine.compat.template_classes',
    'engine.stack_resource': 'heatlite.engine.resources.stack_resource',
    'engine.signal_responder': 'heatlite.engine.resources.signal_responder',
    'engine.wait_condition': 'heatlite.engine.resources.wait_condition',
    'engine.output': 'heatlite.language.outputs',
    'engine.node_data': 'heatlite.engine.compat.node_data',
    'engine.software_config_io': 'heatlite.engine.resources.software_config_io',
    'engine.resources.openstack.octavia.octavia_base': 'heatlite.engine.resources.octavia_base',
    'scaling.cooldown': 'heatlite.engine.resources.cooldown',
    'scaling.scalingutil': 'heatlite.engine.compat.group_scaling',
    'scaling.rolling_update': 'heatlite.engine.compat.group_scaling',
    'engine.stack_user': 'heatlite.engine.resources.stack_user',
    'engine.resources.instance': 'heatlite.engine.resources.aws.ec2.instance',
    'engine.resources.server': 'heatlite.engine.resources.openstack.nova.server',
    'engine.resources.nova_utils': 'heatlite.engine.clients.os.nova_functions',
    'engine.resources.loadbalancer': 'heatlite.engine.resources.aws.elasticloadbalancing.load_balancer',
    'engine.resources.neutron': 'heatlite.engine.resources.openstack.neutron',
    'engine.resources.software_config': 'heatlite.engine.resources.openstack.heat.software_config',
    'engine.resources.random_string': 'heatlite.engine.resources.openstack.heat.random_string',
}

# Former packages without content of their own.
PACKAGES = frozenset({'openstack', 'openstack.common', 'scaling', 'engine.hot', 'engine.cfn'})


def strtime(at: datetime | None = None, fmt: str = '%Y-%m-%dT%H:%M:%S.%f') -> str:
    from oslo_utils import timeutils
    return (at if at is not None else timeutils.utcnow()).strftime(fmt)


# Module -> its base module (or None), and additional names: an object, or 'module:attribute'.
MADE: dict[str, tuple[str | None, dict[str, object]]] = {
    'openstack.common.timeutils': ('oslo_utils.timeutils', {'strtime': strtime}),
    'engine.parser': (None, {'Stack': 'heatlite.engine.reconcile.facade:Stack',
                             'Template': 'heatlite.language.template:Template',
                             'Parameters': 'heatlite.language.parameters:Parameters'}),
    'engine.stack': (None, {'Stack': 'heatlite.engine.reconcile.facade:Stack'}),
    'engine.resources.autoscaling': ('heatlite.engine.resources.aws.autoscaling.autoscaling_group', {
        'InstanceGroup': 'heatlite.engine.resources.openstack.heat.instance_group:InstanceGroup',
        'LaunchConfiguration': 'heatlite.engine.resources.aws.autoscaling.launch_config:LaunchConfiguration'}),
    'engine.resources.volume': ('heatlite.engine.resources.openstack.cinder.volume', {
        'Volume': 'heatlite.engine.resources.aws.ec2.volume:Volume',
        'VolumeAttachment': 'heatlite.engine.resources.aws.ec2.volume:VolumeAttachment'}),
    'engine.clients.client_exception': (None, {
        'EntityMatchNotFound': 'heatlite.engine.clients.os.glance:EntityMatchNotFound',
        'EntityUniqueMatchNotFound': 'heatlite.engine.clients.os.glance:EntityUniqueMatchNotFound',
        'InterfaceNotFound': 'heatlite.engine.compat.old_names:InterfaceNotFound'}),
    'rpc.api': (None, rpc_names.NAMES),
    'engine.environment': ('heatlite.language.environment', {
        'PARAMETERS': 'parameters', 'RESOURCE_REGISTRY': 'resource_registry',
        'PARAMETER_DEFAULTS': 'parameter_defaults', 'ENCRYPTED_PARAM_NAMES': 'encrypted_param_names',
        'EVENT_SINKS': 'event_sinks', 'PARAMETER_MERGE_STRATEGIES': 'parameter_merge_strategies',
        'SECTIONS': ('parameters', 'resource_registry'),
        'HOOK_TYPES': 'heatlite.language.registry:HOOK_TYPES',
        'RESTRICTED_ACTIONS': 'heatlite.language.registry:RESTRICTED_ACTIONS'}),
}


def _translated(text: str) -> str:
    return _(text)


def _entity(name: str, entity: str) -> type[exception.HeatException]:
    """Make an error class of old releases that is an EntityNotFound today."""
    def __init__(self: exception.EntityNotFound, **kwargs: object) -> None:
        found = next((value for key, value in kwargs.items() if key != 'entity'), '')
        exception.EntityNotFound.__init__(self, entity=entity, name=found)

    return type(name, (exception.EntityNotFound,), {'__init__': __init__, '__doc__': f'Old name: {entity}.'})


def _error(name: str, text: str) -> type[exception.HeatException]:
    return type(name, (exception.HeatException,), {'msg_fmt': text, '__doc__': 'An error of former years.'})


InterfaceNotFound = _error('InterfaceNotFound', 'Server %(id)s has no network interface.')


class HasMetadata(Protocol):
    """The part of a resource that its metadata are read and written by."""

    def metadata_get(self) -> dict[str, object]: ...

    def metadata_set(self, metadata: object) -> None: ...


class Metadata:
    """The descriptor that types of 2013 assign to `metadata` in their class."""

    def __get__(self, resource: HasMetadata | None, owner: object = None) -> object:
        return self if resource is None else resource.metadata_get()

    def __set__(self, resource: HasMetadata, value: object) -> None:
        resource.metadata_set(value)


def get_types(support_status: str | None = None) -> list[str]:
    from heatlite.engine.types import registry
    return [name for name, kind in registry.current().classes()
            if support_status is None or kind.support_status.status == support_status]


def get_class(resource_type: str, resource_name: str | None = None, environment: Environment | None = None) -> object:
    from heatlite.engine.types import registry
    return registry.current().resolve(resource_type, resource_name or '', environment)


# Module -> former names to add to it.
ADDED: dict[str, dict[str, object]] = {
    'heatlite.engine.resource': {'Metadata': Metadata, 'get_types': get_types, 'get_class': get_class},
    'heatlite.common.i18n': dict.fromkeys(('_LE', '_LI', '_LW', '_LC'), _translated),
    'heatlite.common.exception': {
        'ResourceTypeNotFound': _entity('ResourceTypeNotFound', 'Resource Type'),
        'PhysicalResourceNotFound': _entity('PhysicalResourceNotFound', 'Resource'),
        'WatchRuleNotFound': _entity('WatchRuleNotFound', 'Watch Rule'),
        'ServiceNotFound': _entity('ServiceNotFound', 'Service'),
        'FlavorMissing': _entity('FlavorMissing', 'Flavor'),
        'ImageNotFound': _entity('ImageNotFound', 'Image'),
        'UserKeyPairMissing': _entity('UserKeyPairMissing', 'Key'),
        'NovaNetworkNotFound': _entity('NovaNetworkNotFound', 'Nova network'),
        'VolumeTypeNotFound': _entity('VolumeTypeNotFound', 'VolumeType'),
        'KeystoneRoleNotFound': _entity('KeystoneRoleNotFound', 'KeystoneRole'),
        'KeystoneProjectNotFound': _entity('KeystoneProjectNotFound', 'KeystoneProject'),
        'KeystoneDomainNotFound': _entity('KeystoneDomainNotFound', 'KeystoneDomain'),
        'KeystoneGroupNotFound': _entity('KeystoneGroupNotFound', 'KeystoneGroup'),
        'KeystoneServiceNotFound': _entity('KeystoneServiceNotFound', 'KeystoneService'),
        'InvalidTemplateParameter': _error('InvalidTemplateParameter', 'The Parameter (%(key)s) has no attributes.'),
        'KeystoneError': _error('KeystoneError', 'Keystone has encountered an error.'),
        'RegionAmbiguity': _error('RegionAmbiguity', 'Multiple regions found: %(region)s'),
        'ImageError': _error('ImageError', 'The image cannot be used: %(reason)s'),
    },
}
