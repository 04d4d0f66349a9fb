"""The smaller services: one life each, from create to gone, with what is special about it."""

import json

import pytest


def test_zones_and_record_sets(sim):
    dns = sim.service('dns')
    zone = dns.post('/v2/zones', json={'name': 'example.org.', 'email': 'a@example.org'})
    assert (zone.status_code, zone.json()['status'], zone.json()['action']) == (202, 'PENDING', 'CREATE')
    zone = zone.json()['id']
    assert dns.post('/v2/zones', json={'name': 'example.org.', 'email': 'a@example.org'}).status_code == 409
    assert dns.post('/v2/zones', json={'name': 'example.org', 'email': 'a@example.org'}).status_code == 400
    sim.advance()
    shown = dns.get(f'/v2/zones/{zone}').json()
    assert (shown['status'], shown['action']) == ('ACTIVE', 'NONE')
    body = {'name': 'www.example.org.', 'type': 'A', 'records': ['192.0.2.1']}
    record = dns.post(f'/v2/zones/{zone}/recordsets', json=body).json()['id']
    away = dns.post(f'/v2/zones/{zone}/recordsets', json={**body, 'name': 'www.example.com.'})
    assert (away.status_code, away.json()['type']) == (400, 'invalid_recordset_location')
    sim.advance()
    changed = dns.put(f'/v2/zones/{zone}/recordsets/{record}', json={'records': ['192.0.2.2']})
    assert (changed.status_code, changed.json()['status']) == (202, 'PENDING')
    sim.advance()
    assert {each['type'] for each in dns.get(f'/v2/zones/{zone}/recordsets').json()['recordsets']} == {'A', 'NS', 'SOA'}
    gone = dns.delete(f'/v2/zones/{zone}')
    assert (gone.status_code, gone.json()['action']) == (202, 'DELETE')
    sim.advance()
    assert dns.get(f'/v2/zones/{zone}').status_code == 404
    assert sim.ids('dns.recordsets') == []


def test_secrets_containers_orders(sim):
    barbican = sim.service('key-manager')
    ref = barbican.post('/v1/secrets', json={'name': 's', 'payload': 'top', 'payload_content_type': 'text/plain'})
    ref = ref.json()['secret_ref']
    assert ref.startswith(f'{sim.url}/key-manager/v1/secrets/')
    assert barbican.get(ref).json()['content_types'] == {'default': 'text/plain'}
    assert barbican.get(f'{ref}/payload', headers={'Accept': 'text/plain'}).text == 'top'
    assert barbican.get(ref, headers={'Accept': 'text/plain'}).text == 'top'
    box = barbican.post('/v1/containers', json={'type': 'generic', 'secret_refs': [{'name': 'x', 'secret_ref': ref}]})
    assert barbican.get(box.json()['container_ref']).json()['status'] == 'ACTIVE'
    twice = [{'name': name, 'secret_ref': ref} for name in ('x', 'y')]
    assert barbican.post('/v1/containers', json={'type': 'generic', 'secret_refs': twice}).status_code == 400
    assert barbican.post('/v1/containers', json={'type': 'generic', 'secret_refs': [
        {'name': 'x', 'secret_ref': f'{ref}0'}]}).status_code == 404
    order = barbican.post('/v1/orders', json={'type': 'asymmetric', 'meta': {'algorithm': 'rsa', 'bit_length': 2048}})
    order = order.json()['order_ref']
    assert barbican.get(order).json()['status'] == 'PENDING'
    sim.advance()
    made = barbican.get(barbican.get(order).json()['container_ref']).json()
    assert {each['name'] for each in made['secret_refs']} == {'public_key', 'private_key'}
    assert barbican.delete(ref).status_code == 204
    assert barbican.get(ref).status_code == 404


def test_alarms(sim):
    aodh = sim.service('alarming')
    body = {'name': 'a', 'type': 'event', 'event_rule': {'event_type': 'x'}, 'alarm_actions': ['http://x/'],
            'severity': 'critical'}
    made = aodh.post('/v2/alarms', json=body)
    assert (made.status_code, made.json()['state']) == (201, 'insufficient data')
    path = f'/v2/alarms/{made.json()["alarm_id"]}'
    shown = aodh.put(path, json={'name': 'b', 'type': 'event', 'event_rule': {}}).json()
    assert (shown['name'], shown['alarm_actions'], shown['severity']) == ('b', [], 'low')
    assert aodh.put(f'{path}/state', json='alarm').json() == 'alarm'
    assert [each['name'] for each in aodh.get('/v2/alarms').json()] == ['b']
    assert aodh.post('/v2/alarms', json={'name': 'a', 'type': 'event'}).status_code == 400
    assert aodh.delete(path).status_code == 204


def test_queues_messages_subscriptions_and_signed_urls(sim):
    import requests
    zaqar = sim.service('messaging', additional_headers={'Client-ID': 'tests'})
    assert zaqar.put('/v2/queues/q').status_code == 201
    zaqar.post('/v2/queues/q/messages', json={'messages': [{'ttl': 60, 'body': {'a': 1}}]})
    message, = zaqar.get('/v2/queues/q/messages').json()['messages']
    assert message['body'] == {'a': 1}
    share = zaqar.post('/v2/queues/q/share', json={'paths': ['messages'], 'methods': ['GET', 'POST']}).json()
    headers = {'URL-Signature': share['signature'], 'URL-Expires': share['expires'], 'X-Project-ID': share['project'],
               'URL-Paths': ','.join(share['paths']), 'URL-Methods': ','.join(share['methods']), 'Client-ID': 'x'}
    url = f'{sim.url}/messaging/v2/queues/q/messages'
    assert len(requests.get(url, headers=headers, timeout=30).json()['messages']) == 1
    assert requests.get(url, headers={**headers, 'URL-Signature': 'x'}, timeout=30).status_code == 404
    made = zaqar.post('/v2/queues/q/subscriptions', json={'subscriber': 'http://x/', 'ttl': 60, 'options': {}})
    path = f'/v2/queues/q/subscriptions/{made.json()["subscription_id"]}'
    assert zaqar.patch(path, json={'ttl': 90}).status_code == 204
    assert zaqar.get(path).json()['ttl'] == 90
    assert zaqar.delete('/v2/queues/q').status_code == 204
    assert sim.ids('messaging.subscriptions') == []


def test_workflows_run(sim):
    mistral = sim.service('workflowv2')
    text = "version: '2.0'\nwf:\n  input: [who, greeting: hello]\n  tasks:\n    one: {action: std.noop}\n"
    made = mistral.post('/workflows', data=text, headers={'Content-Type': 'text/plain'})
    assert (made.status_code, made.json()['workflows'][0]['input']) == (201, 'greeting=hello, who')
    assert mistral.post('/workflows', data=text, headers={'Content-Type': 'text/plain'}).status_code == 409
    assert mistral.post('/workflows', data='x: [', headers={'Content-Type': 'text/plain'}).status_code == 400
    run = mistral.post('/executions', json={'workflow_name': 'wf', 'input': '{"who": "you"}'}).json()
    assert run['state'] == 'RUNNING'
    for wrong in ({}, {'who': 'you', 'colour': 'blue'}):
        refused = mistral.post('/executions', json={'workflow_name': 'wf', 'input': json.dumps(wrong)})
        assert refused.status_code == 400 and 'Invalid input' in refused.text
    assert mistral.delete(f'/executions/{run["id"]}').status_code == 403
    sim.advance()
    assert mistral.get(f'/executions/{run["id"]}').json()['state'] == 'SUCCESS'
    cron = {'name': 'c', 'pattern': '* * * * *', 'workflow_name': 'wf'}
    assert mistral.post('/cron_triggers', json=cron).status_code == 400
    assert mistral.post('/cron_triggers', json={**cron, 'workflow_input': '{"who": "you"}'}).status_code == 201
    assert mistral.get('/cron_triggers/c').json()['workflow_name'] == 'wf'
    assert mistral.delete('/cron_triggers/c').status_code == 204
    assert mistral.delete('/workflows/wf').status_code == 204


def test_shares(sim, make):
    manila = sim.service('shared-file-system', default_microversion='2.60')
    network = make(manila, '/share-networks', 'share_network', name='n')
    share = make(manila, '/shares', 'share', share_proto='NFS', size=1, share_network_id=network['id'])
    assert share['status'] == 'creating'
    rule = {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.0/8'}}
    path = f'/shares/{share["id"]}'
    assert manila.post(f'{path}/action', json=rule).status_code == 400
    sim.advance()
    assert manila.get(path).json()['share']['status'] == 'available'
    access = manila.post(f'{path}/action', json=rule).json()['access']['id']
    assert manila.post(f'{path}/action', json={'deny_access': {'access_id': access}}).status_code == 202
    assert manila.delete(f'/share-networks/{network["id"]}').status_code == 409
    assert manila.delete(path).status_code == 202
    sim.advance()
    assert manila.get(path).status_code == 404


def test_clusters(sim):
    magnum = sim.service('container-infra')
    model = magnum.post('/clustertemplates', json={'name': 't', 'coe': 'kubernetes', 'image_id': 'i',
                                                   'external_network_id': 'public'}).json()['uuid']
    made = magnum.post('/clusters', json={'name': 'c', 'cluster_template_id': model})
    assert (made.status_code, list(made.json())) == (202, ['uuid'])
    id = made.json()['uuid']
    assert magnum.get(f'/clusters/{id}').json()['status'] == 'CREATE_IN_PROGRESS'
    sim.advance()
    assert magnum.get('/clusters/c').json()['status'] == 'CREATE_COMPLETE'
    magnum.patch(f'/clusters/{id}', json=[{'op': 'replace', 'path': '/node_count', 'value': 3}])
    assert magnum.get(f'/clusters/{id}').json()['status'] == 'UPDATE_IN_PROGRESS'
    sim.advance()
    shown = magnum.get(f'/clusters/{id}').json()
    assert (shown['status'], shown['node_count']) == ('UPDATE_COMPLETE', 3)
    assert magnum.delete(f'/clustertemplates/{model}').status_code == 409
    assert magnum.delete(f'/clusters/{id}').status_code == 204
    sim.advance()
    assert magnum.get(f'/clusters/{id}').status_code == 404


def test_databases(sim, make, seed):
    trove = sim.service('database')
    small = seed('database.flavors', 'm1.small')
    made = make(trove, '/instances', 'instance', name='db', flavorRef=seed('database.flavors', 'm1.tiny'),
                volume={'size': 1}, databases=[{'name': 'x'}], users=[{'name': 'u', 'password': 'p'}])
    path = f'/instances/{made["id"]}'
    assert made['status'] == 'BUILD'
    assert trove.post(f'{path}/action', json={'restart': {}}).status_code == 422
    sim.advance()
    assert [each['name'] for each in trove.get(f'{path}/databases').json()['databases']] == ['x']
    trove.put(f'{path}/users/u/databases', json={'databases': [{'name': 'x'}]})
    assert trove.get(f'{path}/users/u').json()['user']['databases'] == [{'name': 'x'}]
    assert trove.post(f'{path}/action', json={'resize': {'flavorRef': small}}).status_code == 202
    assert trove.get(path).json()['instance']['status'] == 'RESIZE'
    sim.advance()
    assert trove.get(path).json()['instance']['flavor']['id'] == small
    cluster = make(trove, '/clusters', 'cluster', name='c', datastore={'type': 'mongodb', 'version': '8.0'},
                   instances=[{'flavorRef': small}])
    assert cluster['task']['name'] == 'BUILDING'
    sim.advance()
    shown = trove.get(f'/clusters/{cluster["id"]}').json()['cluster']
    assert (shown['task']['name'], shown['instances'][0]['status']) == ('NONE', 'ACTIVE')


def test_bare_metal_ports(sim):
    ironic = sim.service('baremetal', 'admin', default_microversion='1.53')
    node = ironic.post('/v1/nodes', json={'name': 'n', 'driver': 'fake-hardware'}).json()['uuid']
    made = ironic.post('/v1/ports', json={'address': 'fa:16:3e:00:00:aa', 'node_uuid': node})
    assert made.status_code == 201
    path = f'/v1/ports/{made.json()["uuid"]}'
    shown = ironic.patch(path, json=[{'op': 'add', 'path': '/extra/a', 'value': 'b'}]).json()
    assert shown['extra'] == {'a': 'b'}
    assert ironic.post('/v1/ports', json={'address': 'fa:16:3e:00:00:aa', 'node_uuid': node}).status_code == 409
    assert ironic.get('/v1/nodes/n').json()['uuid'] == node
    assert ironic.delete(path).status_code == 204


@pytest.mark.parametrize('run, state', [('true', 'Running'), ('false', 'Created')])
def test_containers(sim, run, state, seed):
    zun = sim.service('container')
    made = zun.post(f'/containers?run={run}', json={'image': 'cirros', 'nets': [
        {'network': seed('network.networks', 'private')}]})
    assert (made.status_code, made.json()['status']) == (202, 'Creating')
    path = f'/containers/{made.json()["uuid"]}'
    sim.advance()
    shown = zun.get(path).json()
    assert shown['status'] == state
    assert len(shown['addresses'][seed('network.networks', 'private')]) == 1
    before = len(sim.ids('network.ports'))
    assert zun.delete(f'{path}?force=true').status_code == 204
    sim.advance()
    assert zun.get(path).status_code == 404
    assert len(sim.ids('network.ports')) == before - 1


def test_leases(sim):
    blazar = sim.service('reservation')
    admin = sim.service('reservation', 'admin')
    assert admin.post('/os-hosts', json={'name': 'compute-1'}).json()['host']['hypervisor_hostname'] == 'compute-1'
    made = blazar.post('/leases', json={'name': 'l', 'start': '2026-12-01 00:00', 'end': '2026-12-02 00:00',
                                        'reservations': [{'resource_type': 'physical:host', 'min': 1, 'max': 1}]})
    lease = made.json()['lease']
    assert (lease['status'], lease['start_date']) == ('PENDING', '2026-12-01 00:00')
    sim.advance()
    shown = blazar.get(f'/leases/{lease["id"]}').json()['lease']
    assert (shown['status'], shown['reservations'][0]['status']) == ('ACTIVE', 'active')


HASHMAP = '/v1/rating/module_config/hashmap'


def test_quotes(sim):
    admin, member = sim.service('rating', 'admin'), sim.service('rating')

    def made(kind, key, **fields):
        return admin.post(f'{HASHMAP}/{kind}', json=fields).json()[key]

    server, disk = (made('services', 'service_id', name=name) for name in ('instance', 'volume.size'))
    flavor = made('fields', 'field_id', service_id=server, name='flavor_name')
    made('mappings', 'mapping_id', field_id=flavor, value='m1.small', type='flat', cost='0.02')
    made('mappings', 'mapping_id', field_id=flavor, value='m1.tiny', type='flat', cost='0.01')
    made('mappings', 'mapping_id', service_id=disk, type='flat', cost='0.5')
    half = made('mappings', 'mapping_id', service_id=disk, type='rate', cost='0.5')

    def quote(*resources):
        return member.post('/v1/rating/quote', json={'resources': list(resources)}).json()

    small = {'service': 'instance', 'desc': {'metadata': {'flavor_name': 'm1.small'}}, 'volume': 1}
    disks = {'service': 'volume.size', 'desc': {}, 'volume': 4}
    assert quote(small, small, disks) == 1.04
    assert admin.delete(f'{HASHMAP}/mappings/{half}').status_code == 204
    assert quote(disks, {'service': 'unknown', 'volume': 7}) == 2.0
    assert member.post(f'{HASHMAP}/services', json={'name': 'x'}).status_code == 403
    assert member.post('/v1/rating/quote', json={}).status_code == 400
    listed = member.get(f'{HASHMAP}/services').json()['services']
    assert [each['name'] for each in listed] == ['instance', 'volume.size']
