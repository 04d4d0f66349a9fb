"""Types with code of their own that stand for things of other services: name -> module with its resource_mapping."""

from __future__ import annotations

OPENSTACK = 'heatlite.engine.resources.openstack'
EC2 = 'heatlite.engine.resources.aws.ec2'
NEUTRON, NOVA, CINDER = f'{OPENSTACK}.neutron', f'{OPENSTACK}.nova', f'{OPENSTACK}.cinder'

MODULES: dict[str, str] = {
    'OS::Nova::Server': f'{NOVA}.server',
    'OS::Neutron::Port': f'{NEUTRON}.port',
    'OS::Neutron::SecurityGroup': f'{NEUTRON}.security_group',
    'OS::Cinder::Volume': f'{CINDER}.volume',
    'OS::Cinder::VolumeAttachment': f'{CINDER}.volume',
    'OS::Trove::Instance': f'{OPENSTACK}.trove.instance',
    'OS::Zun::Container': f'{OPENSTACK}.zun.container',
    'OS::Mistral::Workflow': f'{OPENSTACK}.mistral.workflow',
    'OS::Mistral::ExternalResource': f'{OPENSTACK}.mistral.external_resource',
    'AWS::EC2::Instance': f'{EC2}.instance',
    'AWS::EC2::Volume': f'{EC2}.volume',
    'AWS::EC2::VolumeAttachment': f'{EC2}.volume',
    'AWS::EC2::EIP': f'{EC2}.eip',
    'AWS::EC2::EIPAssociation': f'{EC2}.eip',
    'AWS::EC2::SecurityGroup': f'{EC2}.security_group',
    'AWS::EC2::VPC': f'{EC2}.vpc',
    'AWS::EC2::Subnet': f'{EC2}.subnet',
    'AWS::EC2::NetworkInterface': f'{EC2}.network_interface',
    'AWS::EC2::InternetGateway': f'{EC2}.internet_gateway',
    'AWS::EC2::VPCGatewayAttachment': f'{EC2}.internet_gateway',
    'AWS::EC2::RouteTable': f'{EC2}.route_table',
    'AWS::EC2::SubnetRouteTableAssociation': f'{EC2}.route_table',
    'AWS::IAM::User': 'heatlite.engine.resources.aws.iam.user',
    'AWS::IAM::AccessKey': 'heatlite.engine.resources.aws.iam.user',
    'AWS::RDS::DBInstance': 'heatlite.engine.resources.aws.rds.db_instance',
    'AWS::S3::Bucket': 'heatlite.engine.resources.aws.s3.s3',
}
