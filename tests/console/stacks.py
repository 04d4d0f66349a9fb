"""The stacks that the tests look at."""

import json
from pathlib import Path

SHOP = """heat_template_version: 2021-04-16
description: A shop with a network, a database and web servers
parameters:
  flavor:
    type: string
    default: m1.small
    description: Flavor of the servers
    constraints:
      - allowed_values: [m1.tiny, m1.small, m1.medium]
  count: {type: number, default: 2, constraints: [{range: {min: 1, max: 10}}]}
  token: {type: string, hidden: true, default: secret-token}
resources:
  network: {type: "OS::Neutron::Net", properties: {name: shop}}
  subnet: {type: "OS::Neutron::Subnet", properties: {network: {get_resource: network}, cidr: 10.1.0.0/24}}
  router: {type: "OS::Neutron::Router", properties: {name: shop}}
  gateway:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}
  rules:
    type: OS::Neutron::SecurityGroup
    properties: {rules: [{protocol: tcp, port_range_min: 80, port_range_max: 80}]}
  password: {type: "OS::Heat::RandomString", properties: {length: 20}}
  disk: {type: "OS::Cinder::Volume", properties: {size: 5}}
  port:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: network}
      fixed_ips: [{subnet: {get_resource: subnet}}]
      security_groups: [{get_resource: rules}]
  database:
    type: OS::Nova::Server
    properties:
      image: cirros
      flavor: {get_param: flavor}
      networks: [{port: {get_resource: port}}]
      metadata: {password: {get_attr: [password, value]}}
  attachment:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: database}, volume_id: {get_resource: disk}}
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: count}
      resource_def:
        type: OS::Nova::Server
        properties:
          image: cirros
          flavor: {get_param: flavor}
          networks: [{network: {get_resource: network}}]
          metadata: {database: {get_attr: [database, first_address]}}
outputs:
  address: {description: Address of the database, value: {get_attr: [database, first_address]}}
  servers: {description: Ids of the web servers, value: {get_attr: [web, refs]}}
"""

SCRIPT = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


def read_axe(package):
    """The script of axe that comes with its package for Playwright."""
    return Path(package.__file__).with_name('axe.min.js').read_text()


def encoded(body):
    return () if body is None else (json.dumps(body).encode(),)


def test_resource(*requires, **properties):
    return {'type': 'OS::Heat::TestResource', 'properties': properties,
            **({'depends_on': list(requires)} if requires else {})}


test_resource.__test__ = False


def template(**resources):
    return {'heat_template_version': '2021-04-16', 'resources': resources}


BROKEN = template(network=test_resource(wait_secs=0), lamp=test_resource('network', fail=True),
                  table=test_resource('lamp'), chair=test_resource('table'), roof=test_resource('network'))
SLOW = template(first=test_resource(), second=test_resource('first', wait_secs=900), third=test_resource('second'),
                fourth=test_resource('third'), side=test_resource())
HOSTILE = {
    'heat_template_version': '2021-04-16', 'description': SCRIPT,
    'parameters': {'words': {'type': 'string', 'default': SCRIPT, 'description': SCRIPT, 'label': SCRIPT}},
    'resources': {'javascript:alert(1)': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'words'}},
                                          'metadata': {SCRIPT: SCRIPT}},
                  SCRIPT.replace('/', '|')[:200]: {'type': 'OS::Heat::Value', 'properties': {'value': SCRIPT}},
                  'fails': test_resource(fail=True, value=SCRIPT)},
    'outputs': {SCRIPT: {'description': SCRIPT, 'value': SCRIPT}}}


def make(service):
    """Creates them and waits for what they come to; ids by name."""
    found = {
        'shop': service.create('shop', SHOP, tags='production,web'),
        'broken': service.create('broken', BROKEN, disable_rollback=True),
        'slow': service.create('slow', SLOW),
        'hostile': service.create('hostile', HOSTILE, disable_rollback=True, tags=[SCRIPT[:40]]),
        **{f'service-{number}': service.create(f'service-{number}', template(a=test_resource(), b=test_resource('a')),
                                               tags=('staging', 'production')[number % 2]) for number in range(6)}}
    service.until('shop', 'CREATE_COMPLETE')
    service.until('broken', 'CREATE_FAILED')
    service.until('hostile', 'CREATE_FAILED')
    return found
