"""AWS::ElasticLoadBalancing::LoadBalancer: a nested stack with a load balancer of Octavia, or a server of HAProxy.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from oslo_config import cfg

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.clients.os.collection import Fields
from heatlite.engine.properties import Values
from heatlite.engine.resources import catalogue, stack_resource
from heatlite.engine.resources.aws.elasticloadbalancing import balancing
from heatlite.engine.resources.aws.elasticloadbalancing.balancing import HealthCheck, Listener
from heatlite.language.unknown import UNKNOWN

TYPE = 'AWS::ElasticLoadBalancing::LoadBalancer'
NO_CLIENT = ('255.255.255.255/32',)            # no client has this address; Octavia takes an empty list for everybody
KEY_NAME = 'KeyName'                        # parameter of the parent: the key of the server of HAProxy
T = TypeVar('T')


class LoadBalancer(stack_resource.StackResource):
    """Distributes requests among instances.

    It is a load balancer of Octavia where the cloud has it; else a server that runs HAProxy, of the operator's options
    `load_balancer_image` and `load_balancer_flavor`. Besides its `Instances` it serves the members of the groups
    that name it: a group calls `serve`. The nested stack's template tells which instances are served for whom.
    """

    validates_at_creation = True
    accepts_any_attribute = False           # the outputs of the nested stack are its own affair
    own_names = (balancing.SERVED,)
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (ZONES, HEALTH_CHECK, INSTANCES, LISTENERS, SECURITY_GROUPS, SUBNETS) = (
        'AvailabilityZones', 'HealthCheck', 'Instances', 'Listeners', 'SecurityGroups', 'Subnets')
    ATTRIBUTES = (ZONE_NAME, ZONE_ID, DNS_NAME, GROUP_NAME, GROUP_OWNER) = (
        'CanonicalHostedZoneName', 'CanonicalHostedZoneNameID', 'DNSName', 'SourceSecurityGroup.GroupName',
        'SourceSecurityGroup.OwnerAlias')

    def validate(self) -> object:
        """Raise StackValidationFailed."""
        found = super().validate()
        given: Sequence[object] = self._known(self.LISTENERS, [])
        listeners = [each for each in given if isinstance(each, Mapping)]
        ports = [each['LoadBalancerPort'] for each in listeners if isinstance(each.get('LoadBalancerPort'), int)]
        for port in [*ports, *(each['InstancePort'] for each in listeners if isinstance(each['InstancePort'], int))]:
            if not 1 <= port <= 65535:
                raise _invalid(_('%d is no port: it is 1 to 65535') % port)
        if len(set(ports)) != len(ports):
            raise _invalid(_('Each listener needs a LoadBalancerPort of its own'))
        no_check: Values | None = None
        self._check_health(self._known(self.HEALTH_CHECK, no_check))
        return found

    def _known(self, name: str, otherwise: T) -> T:
        value: T = self.properties[name]
        return otherwise if value is None or value is UNKNOWN else value

    @staticmethod
    def _check_health(given: Values | None) -> None:
        if given is None:
            return
        if isinstance(given['Target'], str):
            try:
                balancing.target(given['Target'])
            except ValueError as error:
                raise _invalid(str(error)) from None
        numbers = {name: given[name] for name in ('Interval', 'Timeout', 'HealthyThreshold', 'UnhealthyThreshold')
                   if isinstance(given[name], int)}
        for name, number in numbers.items():
            if number < 1:
                raise _invalid(_('%s must be at least 1') % name)
        if {'Interval', 'Timeout'} <= set(numbers) and numbers['Interval'] <= numbers['Timeout']:
            raise _invalid(_('Interval must be larger than Timeout'))

    # --- the nested stack ---------------------------------------------------------------------------------

    def child_template(self) -> dict[str, object]:
        """The members of groups are served as before."""
        served = balancing.served_by(self._resources())
        return self._template({**served, balancing.OWN: self._addresses(self.properties[self.INSTANCES] or (), served)})

    def _resources(self) -> Mapping[str, Values]:
        """Return the resources of the present template of the nested stack; {} if there is none."""
        template = self.stack.nesting.template(self) if self.resource_id is not None else None
        found: Mapping[str, Values] = (template.section('resources') if template is not None else None) or {}
        return found

    def _template(self, served: balancing.Served) -> dict[str, object]:
        resources = self._resources()
        if resources.get(balancing.BALANCER) or (not resources and self._has_octavia()):
            return balancing.octavia(self._subnet(resources, served), tuple(self._listeners(guarded=True)),
                                     self._health(), served)
        return balancing.haproxy(self._machine(), tuple(self._listeners()), self._health(), served)

    def _has_octavia(self) -> bool:
        plugin = self.client_plugin('octavia')
        return plugin is not None and any(
            plugin.does_endpoint_exist(service_type=kind, service_name='octavia') for kind in plugin.service_types)

    def _machine(self) -> balancing.Machine:
        image, subnets = cfg.CONF.load_balancer_image, self.properties[self.SUBNETS] or ()
        if not image:
            raise exception.Error(_('This cloud has no Octavia, and its operator set no load_balancer_image for a '
                                    'server that balances load'))
        key = self.stack.parameters.get(KEY_NAME) if KEY_NAME in self.stack.parameters else None
        return balancing.Machine(image, cfg.CONF.load_balancer_flavor, next(iter(subnets), None), key or None,
                                 tuple(self.properties[self.SECURITY_GROUPS] or ()))

    def _listeners(self, guarded: bool = False) -> Iterator[Listener]:
        """`guarded`: with the networks that the security groups let connect."""
        groups = self.properties[self.SECURITY_GROUPS] if guarded else None
        rules = self._rules(groups) if groups else None
        for given in self.properties[self.LISTENERS]:
            port = given['LoadBalancerPort']
            yield Listener(port, given['InstancePort'], given['Protocol'],
                           allowed_networks(rules, port) if rules is not None else None)

    def _rules(self, groups: Sequence[str]) -> list[dict[str, object]]:
        """The rules of security groups. Octavia's listeners know networks only, so each of them must."""
        neutron, plugin = self.client('neutron'), self.client_plugin('neutron')
        return [rule for group in plugin.get_secgroup_uuids(list(groups))
                for rule in neutron.list_security_group_rules(security_group_id=group)['security_group_rules']]

    def _health(self) -> HealthCheck | None:
        given = self.properties[self.HEALTH_CHECK]
        if given is None:
            return None
        protocol, port, path = balancing.target(given['Target'])
        return HealthCheck(protocol, port, path, given['Interval'], given['Timeout'], given['HealthyThreshold'],
                           given['UnhealthyThreshold'])

    # --- where it is --------------------------------------------------------------------------------------

    def _subnet(self, resources: Mapping[str, Values], served: balancing.Served) -> str:
        """Return the subnet of the address that clients connect to: the present one, else the first of `Subnets`, else
        that of the first instance, else that of the project's only network."""
        made = resources.get(balancing.BALANCER)
        if made is not None:
            return str(made['properties']['vip_subnet'])
        for name in self.properties[self.SUBNETS] or ():
            return str(self.client_plugin('neutron').find_resourceid_by_name_or_id('subnet', name))
        for instance in balancing.addresses(served):
            for port in self.client('neutron').list_ports(device_id=instance)['ports']:
                for fixed in port['fixed_ips']:
                    return str(fixed['subnet_id'])
        return self._only_subnet()

    def _only_subnet(self) -> str:
        project = self.context.cloud_project_id
        networks = [each for each in self.client('neutron').list_networks(**{'router:external': False})['networks']
                    if each.get('subnets')]
        own = [each for each in networks if (each.get('project_id') or each.get('tenant_id')) == project] or networks
        if len(own) != 1:
            raise exception.Error(_('The project has %d networks: name a subnet in Subnets') % len(own))
        return str(own[0]['subnets'][0])

    def _addresses(self, instances: Iterable[str], served: balancing.Served) -> dict[str, str]:
        """{id: address}. Nova is asked for those that are not served yet; one that is gone is left out."""
        known, plugin = balancing.addresses(served), self.client_plugin('nova')
        found = {str(each): known.get(str(each)) or plugin.server_to_ipaddress(str(each)) for each in instances}
        return {instance: address for instance, address in found.items() if address is not None}

    # --- life ---------------------------------------------------------------------------------------------

    def serve(self, group: str, instances: Sequence[str]) -> bool:
        """Serves these instances for a group, instead of those before. False: it is under way, call again.

        Raises what the nested stack fails of. It keeps nothing in memory: any engine may go on calling.
        """
        if self.resource_id is None:
            return True
        served = balancing.served_by(self._resources())
        if sorted(served.get(group, ())) == sorted(set(instances)):
            return self.is_nested_done(self._cookie_of_what_runs())
        wanted = {name: members for name, members in served.items() if name != group}
        found = self._addresses(instances, served)
        if found == served.get(group):          # the others are gone
            return self.is_nested_done(self._cookie_of_what_runs())
        self.update_with_template(self._template({**wanted, group: found}))
        return False

    def get_reference_id(self) -> str:
        return str(self.name)

    def _resolve_attribute(self, name: str) -> object:
        if name in (self.DNS_NAME, self.ZONE_NAME):
            return super()._resolve_attribute(balancing.ADDRESS)
        return ''                               # nothing here has zones or owners of groups


def allowed_networks(rules: Iterable[Fields], port: int) -> tuple[str, ...]:
    """The IPv4 networks from which the rules of security groups let connect to a port by TCP. Raises Error for a rule
    that names a group of servers instead."""
    found = set()
    for rule in rules:
        least, most = rule.get('port_range_min'), rule.get('port_range_max')
        if (rule['direction'] != 'ingress' or rule.get('ethertype') == 'IPv6'
                or rule.get('protocol') not in (None, 'tcp', '6', 'any')
                or not (1 if least is None else least) <= port <= (65535 if most is None else most)):
            continue
        if rule.get('remote_group_id'):
            if rule['remote_group_id'] == rule['security_group_id']:
                continue                        # what the group lets its own servers do
            raise exception.Error(_('A rule of security group %s names a group: a load balancer of this cloud knows '
                                    'networks only') % rule['security_group_id'])
        found.add(str(ipaddress.ip_network(rule.get('remote_ip_prefix') or '0.0.0.0/0', strict=False)))
    return tuple(sorted(found)) or NO_CLIENT


def _invalid(message: str) -> exception.StackValidationFailed:
    return exception.StackValidationFailed(message=message)


def resource_mapping() -> dict[str, type[LoadBalancer]]:
    return {TYPE: LoadBalancer}
