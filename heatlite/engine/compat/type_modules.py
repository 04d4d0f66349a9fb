"""Heat's modules of the types that are descriptions here, for plug-ins that import the class of a type to extend it.

Source: docs/spec/plugins.rst, "Modules of types".
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping
from typing import Protocol

BUILT_IN = 'heatlite.engine.resources.rest.types:built_in'
FOLDER = 'engine.resources.openstack'

# Module, without its first names `heat.engine.resources.openstack.` -> its classes, and their types.
CLASSES: dict[str, dict[str, str]] = {
    'aodh.alarm': {
        'AodhAlarm': 'OS::Aodh::Alarm', 'CombinationAlarm': 'OS::Aodh::CombinationAlarm',
        'EventAlarm': 'OS::Aodh::EventAlarm', 'LBMemberHealthAlarm': 'OS::Aodh::LBMemberHealthAlarm',
        'PrometheusAlarm': 'OS::Aodh::PrometheusAlarm'},
    'aodh.composite_alarm': {'CompositeAlarm': 'OS::Aodh::CompositeAlarm'},
    'aodh.gnocchi.alarm': {
        'AodhGnocchiResourcesAlarm': 'OS::Aodh::GnocchiResourcesAlarm',
        'AodhGnocchiAggregationByMetricsAlarm': 'OS::Aodh::GnocchiAggregationByMetricsAlarm',
        'AodhGnocchiAggregationByResourcesAlarm': 'OS::Aodh::GnocchiAggregationByResourcesAlarm'},
    'barbican.container': {
        'GenericContainer': 'OS::Barbican::GenericContainer',
        'CertificateContainer': 'OS::Barbican::CertificateContainer', 'RSAContainer': 'OS::Barbican::RSAContainer'},
    'barbican.order': {'Order': 'OS::Barbican::Order'},
    'barbican.secret': {'Secret': 'OS::Barbican::Secret'},
    'blazar.host': {'Host': 'OS::Blazar::Host'},
    'blazar.lease': {'Lease': 'OS::Blazar::Lease'},
    'cinder.encrypted_volume_type': {'CinderEncryptedVolumeType': 'OS::Cinder::EncryptedVolumeType'},
    'cinder.qos_specs': {'QoSSpecs': 'OS::Cinder::QoSSpecs', 'QoSAssociation': 'OS::Cinder::QoSAssociation'},
    'cinder.quota': {'CinderQuota': 'OS::Cinder::Quota'},
    'cinder.volume_type': {'CinderVolumeType': 'OS::Cinder::VolumeType'},
    'designate.domain': {'DesignateDomain': 'OS::Designate::Domain'},
    'designate.record': {'DesignateRecord': 'OS::Designate::Record'},
    'designate.recordset': {'DesignateRecordSet': 'OS::Designate::RecordSet'},
    'designate.zone': {'DesignateZone': 'OS::Designate::Zone'},
    'glance.image': {'GlanceImage': 'OS::Glance::Image', 'GlanceWebImage': 'OS::Glance::WebImage'},
    'ironic.port': {'Port': 'OS::Ironic::Port'},
    'keystone.domain': {'KeystoneDomain': 'OS::Keystone::Domain'},
    'keystone.endpoint': {'KeystoneEndpoint': 'OS::Keystone::Endpoint'},
    'keystone.group': {'KeystoneGroup': 'OS::Keystone::Group'},
    'keystone.project': {'KeystoneProject': 'OS::Keystone::Project'},
    'keystone.region': {'KeystoneRegion': 'OS::Keystone::Region'},
    'keystone.role': {'KeystoneRole': 'OS::Keystone::Role'},
    'keystone.role_assignments': {
        'KeystoneUserRoleAssignment': 'OS::Keystone::UserRoleAssignment',
        'KeystoneGroupRoleAssignment': 'OS::Keystone::GroupRoleAssignment'},
    'keystone.service': {'KeystoneService': 'OS::Keystone::Service'},
    'keystone.user': {'KeystoneUser': 'OS::Keystone::User'},
    'magnum.bay': {'Bay': 'OS::Magnum::Bay'},
    'magnum.baymodel': {'BayModel': 'OS::Magnum::BayModel'},
    'magnum.cluster': {'Cluster': 'OS::Magnum::Cluster'},
    'magnum.cluster_template': {'ClusterTemplate': 'OS::Magnum::ClusterTemplate'},
    'manila.security_service': {'SecurityService': 'OS::Manila::SecurityService'},
    'manila.share': {'ManilaShare': 'OS::Manila::Share'},
    'manila.share_network': {'ManilaShareNetwork': 'OS::Manila::ShareNetwork'},
    'manila.share_type': {'ManilaShareType': 'OS::Manila::ShareType'},
    'mistral.cron_trigger': {'CronTrigger': 'OS::Mistral::CronTrigger'},
    'monasca.alarm_definition': {'MonascaAlarmDefinition': 'OS::Monasca::AlarmDefinition'},
    'monasca.notification': {'MonascaNotification': 'OS::Monasca::Notification'},
    'neutron.address_scope': {'AddressScope': 'OS::Neutron::AddressScope'},
    'neutron.extraroute': {'ExtraRoute': 'OS::Neutron::ExtraRoute'},
    'neutron.extrarouteset': {'ExtraRouteSet': 'OS::Neutron::ExtraRouteSet'},
    'neutron.firewall': {
        'Firewall': 'OS::Neutron::Firewall', 'FirewallPolicy': 'OS::Neutron::FirewallPolicy',
        'FirewallRule': 'OS::Neutron::FirewallRule'},
    'neutron.floatingip': {
        'FloatingIP': 'OS::Neutron::FloatingIP', 'FloatingIPAssociation': 'OS::Neutron::FloatingIPAssociation',
        'FloatingIPPortForward': 'OS::Neutron::FloatingIPPortForward'},
    'neutron.l2_gateway': {'L2Gateway': 'OS::Neutron::L2Gateway'},
    'neutron.l2_gateway_connection': {'L2GatewayConnection': 'OS::Neutron::L2GatewayConnection'},
    'neutron.lbaas.health_monitor': {'HealthMonitor': 'OS::Neutron::LBaaS::HealthMonitor'},
    'neutron.lbaas.l7policy': {'L7Policy': 'OS::Neutron::LBaaS::L7Policy'},
    'neutron.lbaas.l7rule': {'L7Rule': 'OS::Neutron::LBaaS::L7Rule'},
    'neutron.lbaas.listener': {'Listener': 'OS::Neutron::LBaaS::Listener'},
    'neutron.lbaas.loadbalancer': {'LoadBalancer': 'OS::Neutron::LBaaS::LoadBalancer'},
    'neutron.lbaas.pool': {'Pool': 'OS::Neutron::LBaaS::Pool'},
    'neutron.lbaas.pool_member': {'PoolMember': 'OS::Neutron::LBaaS::PoolMember'},
    'neutron.loadbalancer': {
        'HealthMonitor': 'OS::Neutron::HealthMonitor', 'Pool': 'OS::Neutron::Pool',
        'PoolMember': 'OS::Neutron::PoolMember', 'LoadBalancer': 'OS::Neutron::LoadBalancer'},
    'neutron.metering': {'MeteringLabel': 'OS::Neutron::MeteringLabel', 'MeteringRule': 'OS::Neutron::MeteringRule'},
    'neutron.net': {'Net': 'OS::Neutron::Net'},
    'neutron.network_gateway': {'NetworkGateway': 'OS::Neutron::NetworkGateway'},
    'neutron.provider_net': {'ProviderNet': 'OS::Neutron::ProviderNet'},
    'neutron.qos': {
        'QoSPolicy': 'OS::Neutron::QoSPolicy', 'QoSBandwidthLimitRule': 'OS::Neutron::QoSBandwidthLimitRule',
        'QoSDscpMarkingRule': 'OS::Neutron::QoSDscpMarkingRule',
        'QoSMinimumBandwidthRule': 'OS::Neutron::QoSMinimumBandwidthRule',
        'QoSMinimumPacketRateRule': 'OS::Neutron::QoSMinimumPacketRateRule'},
    'neutron.quota': {'NeutronQuota': 'OS::Neutron::Quota'},
    'neutron.rbac_policy': {'RBACPolicy': 'OS::Neutron::RBACPolicy'},
    'neutron.router': {
        'Router': 'OS::Neutron::Router', 'RouterInterface': 'OS::Neutron::RouterInterface',
        'RouterGateway': 'OS::Neutron::RouterGateway'},
    'neutron.security_group_rule': {'SecurityGroupRule': 'OS::Neutron::SecurityGroupRule'},
    'neutron.sfc.flow_classifier': {'FlowClassifier': 'OS::Neutron::FlowClassifier'},
    'neutron.sfc.port_chain': {'PortChain': 'OS::Neutron::PortChain'},
    'neutron.sfc.port_pair': {'PortPair': 'OS::Neutron::PortPair'},
    'neutron.sfc.port_pair_group': {'PortPairGroup': 'OS::Neutron::PortPairGroup'},
    'neutron.subnet': {'Subnet': 'OS::Neutron::Subnet'},
    'neutron.subnetpool': {'SubnetPool': 'OS::Neutron::SubnetPool'},
    'neutron.taas.tap_flow': {'TapFlow': 'OS::Neutron::TaaS::TapFlow'},
    'neutron.taas.tap_service': {'TapService': 'OS::Neutron::TaaS::TapService'},
    'neutron.trunk': {'Trunk': 'OS::Neutron::Trunk'},
    'neutron.vpnservice': {
        'VPNService': 'OS::Neutron::VPNService', 'IPsecSiteConnection': 'OS::Neutron::IPsecSiteConnection',
        'IKEPolicy': 'OS::Neutron::IKEPolicy', 'IPsecPolicy': 'OS::Neutron::IPsecPolicy'},
    'nova.flavor': {'NovaFlavor': 'OS::Nova::Flavor'},
    'nova.floatingip': {
        'NovaFloatingIp': 'OS::Nova::FloatingIP', 'NovaFloatingIpAssociation': 'OS::Nova::FloatingIPAssociation'},
    'nova.host_aggregate': {'HostAggregate': 'OS::Nova::HostAggregate'},
    'nova.keypair': {'KeyPair': 'OS::Nova::KeyPair'},
    'nova.quota': {'NovaQuota': 'OS::Nova::Quota'},
    'nova.server_group': {'ServerGroup': 'OS::Nova::ServerGroup'},
    'octavia.availability_zone': {'AvailabilityZone': 'OS::Octavia::AvailabilityZone'},
    'octavia.availability_zone_profile': {'AvailabilityZoneProfile': 'OS::Octavia::AvailabilityZoneProfile'},
    'octavia.flavor': {'Flavor': 'OS::Octavia::Flavor'},
    'octavia.flavor_profile': {'FlavorProfile': 'OS::Octavia::FlavorProfile'},
    'octavia.health_monitor': {'HealthMonitor': 'OS::Octavia::HealthMonitor'},
    'octavia.l7policy': {'L7Policy': 'OS::Octavia::L7Policy'},
    'octavia.l7rule': {'L7Rule': 'OS::Octavia::L7Rule'},
    'octavia.listener': {'Listener': 'OS::Octavia::Listener'},
    'octavia.loadbalancer': {'LoadBalancer': 'OS::Octavia::LoadBalancer'},
    'octavia.pool': {'Pool': 'OS::Octavia::Pool'},
    'octavia.pool_member': {'PoolMember': 'OS::Octavia::PoolMember'},
    'octavia.quota': {'OctaviaQuota': 'OS::Octavia::Quota'},
    'sahara.cluster': {'SaharaCluster': 'OS::Sahara::Cluster'},
    'sahara.data_source': {'DataSource': 'OS::Sahara::DataSource'},
    'sahara.image': {'SaharaImageRegistry': 'OS::Sahara::ImageRegistry'},
    'sahara.job': {'SaharaJob': 'OS::Sahara::Job'},
    'sahara.job_binary': {'JobBinary': 'OS::Sahara::JobBinary'},
    'sahara.templates': {
        'SaharaNodeGroupTemplate': 'OS::Sahara::NodeGroupTemplate',
        'SaharaClusterTemplate': 'OS::Sahara::ClusterTemplate'},
    'senlin.cluster': {'Cluster': 'OS::Senlin::Cluster'},
    'senlin.node': {'Node': 'OS::Senlin::Node'},
    'senlin.policy': {'Policy': 'OS::Senlin::Policy'},
    'senlin.profile': {'Profile': 'OS::Senlin::Profile'},
    'senlin.receiver': {'Receiver': 'OS::Senlin::Receiver'},
    'swift.container': {'SwiftContainer': 'OS::Swift::Container'},
    'trove.cluster': {'TroveCluster': 'OS::Trove::Cluster'},
    'vitrage.vitrage_template': {'VitrageTemplate': 'OS::Vitrage::Template'},
    'zaqar.queue': {'ZaqarQueue': 'OS::Zaqar::Queue', 'ZaqarSignedQueueURL': 'OS::Zaqar::SignedQueueURL'},
    'zaqar.subscription': {
        'ZaqarSubscription': 'OS::Zaqar::Subscription', 'MistralTrigger': 'OS::Zaqar::MistralTrigger'},
}

# Type -> names of constants that are not the name of their property in capitals.
CONSTANTS: dict[str, dict[str, str]] = {
    'OS::Cinder::Quota': {'BACKUPS_GIGABYTES': 'backup_gigabytes'},
    'OS::Designate::Zone': {'ATTRS': 'attributes'},
    'OS::Glance::WebImage': {'IMAGE_ID': 'id'},
    'OS::Keystone::Endpoint': {'SERVICE_URL': 'url'},
    'OS::Manila::Share': {'SHARE_SNAPSHOT': 'snapshot'},
    'OS::Neutron::FloatingIPPortForward': {'FLOATINGIP': 'floating_ip'},
    'OS::Neutron::ProviderNet': {'PROVIDER_NETWORK_TYPE': 'network_type',
                                 'PROVIDER_PHYSICAL_NETWORK': 'physical_network',
                                 'PROVIDER_SEGMENTATION_ID': 'segmentation_id'},
    'OS::Neutron::QoSBandwidthLimitRule': {'MAX_BANDWIDTH': 'max_kbps', 'MAX_BURST_BANDWIDTH': 'max_burst_kbps'},
    'OS::Neutron::QoSMinimumBandwidthRule': {'MIN_BANDWIDTH': 'min_kbps'},
    'OS::Neutron::QoSMinimumPacketRateRule': {'MIN_PACKET_RATE': 'min_kpps'},
    'OS::Neutron::Router': {'EXTERNAL_GATEWAY': 'external_gateway_info'},
    'OS::Neutron::Trunk': {'PARENT_PORT': 'port'},
    'OS::Nova::Flavor': {'ID': 'flavorid'},
    'OS::Nova::FloatingIPAssociation': {'SERVER': 'server_id'},
    'OS::Nova::KeyPair': {'KEY_TYPE': 'type'},
    'OS::Nova::Quota': {'KEYPAIRS': 'key_pairs'},
}

# Module -> the module here that has its names besides the classes of types.
OTHER_NAMES = {f'{FOLDER}.keystone.role_assignments': 'heatlite.engine.resources.role_assignments'}
MODULES = {f'{FOLDER}.{module}': classes for module, classes in CLASSES.items()}
PACKAGES = frozenset(module.rpartition('.')[0] for module in MODULES)


class DescribedType(Protocol):
    """What constants are made from: the schemas of a class of a type."""

    properties_schema: Mapping[str, object]
    attributes_schema: Mapping[str, object]


def class_of(type_name: str) -> type[DescribedType]:
    """Return the class of a built-in type. It has the constants by which plug-ins name its properties."""
    kind: type[DescribedType] = pkgutil.resolve_name(BUILT_IN)(type_name)
    for name, value in constants(kind, type_name).items():
        if not hasattr(kind, name):         # CREATE, STATUS and others are words of every resource
            setattr(kind, name, value)
    return kind


def constants(kind: type[DescribedType], type_name: str) -> dict[str, object]:
    """Return the constants of a class: PROPERTIES, ATTRIBUTES, and one for each property."""
    properties, attributes = tuple(kind.properties_schema), tuple(kind.attributes_schema)
    return {'PROPERTIES': properties, 'ATTRIBUTES': attributes, **{_capitals(name): name for name in properties},
            **CONSTANTS.get(type_name, {})}


def _capitals(name: str) -> str:
    return re.sub(r'\W', '_', name).upper()
