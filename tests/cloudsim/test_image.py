"""Glance: described, then filled; shared with members."""


def create(image, **fields):
    answer = image.post('/v2/images', json={'disk_format': 'raw', 'container_format': 'bare', **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()['id']


def test_upload(sim):
    cloud = sim.connect().image
    made = cloud.create_image(name='i', disk_format='raw', container_format='bare', data=b'abc', validate_checksum=True)
    shown = cloud.get_image(made.id)
    assert (shown.status, shown.size) == ('active', 3)
    cloud.delete_image(made)
    assert cloud.find_image('i') is None


def test_web_download(sim):
    image = sim.service('image')
    id = create(image, name='web')
    said = {'method': {'name': 'web-download', 'uri': 'http://example.org/disk'}}
    assert image.post(f'/v2/images/{id}/import', json=said).status_code == 202
    assert image.get(f'/v2/images/{id}').json()['status'] == 'importing'
    sim.advance()
    assert image.get(f'/v2/images/{id}').json()['status'] == 'active'
    assert image.post(f'/v2/images/{id}/import', json=said).status_code == 409


def test_patch_and_actions(sim):
    image = sim.service('image')
    id = create(image, name='p', key='value')
    patch = [{'op': 'replace', 'path': '/name', 'value': 'q'}, {'op': 'add', 'path': '/more', 'value': '1'},
             {'op': 'remove', 'path': '/key'}, {'op': 'replace', 'path': '/tags', 'value': ['b', 'a']}]
    kind = {'Content-Type': 'application/openstack-images-v2.1-json-patch'}
    shown = image.patch(f'/v2/images/{id}', json=patch, headers=kind).json()
    assert (shown['name'], shown['more'], shown['tags']) == ('q', '1', ['a', 'b'])
    assert 'key' not in shown
    image.put(f'/v2/images/{id}/file', data=b'x', headers={'Content-Type': 'application/octet-stream'})
    assert image.post(f'/v2/images/{id}/actions/deactivate').status_code == 204
    assert image.get(f'/v2/images/{id}').json()['status'] == 'deactivated'


def test_members(sim):
    image, other = sim.service('image', 'admin'), sim.service('image')
    id, project = create(image, name='shared'), sim.session().get_project_id()
    assert other.get(f'/v2/images/{id}').status_code == 404
    assert image.post(f'/v2/images/{id}/members', json={'member': project}).json()['status'] == 'pending'
    assert other.get(f'/v2/images/{id}').status_code == 200
    assert 'shared' not in [each['name'] for each in other.get('/v2/images').json()['images']]
    other.put(f'/v2/images/{id}/members/{project}', json={'status': 'accepted'})
    assert 'shared' in [each['name'] for each in other.get('/v2/images').json()['images']]
    assert image.delete(f'/v2/images/{id}/members/{project}').status_code == 204


def test_protected_and_public(sim):
    image = sim.service('image')
    id = create(image, name='p', protected=True)
    assert image.delete(f'/v2/images/{id}').status_code == 403
    assert image.post('/v2/images', json={'visibility': 'public'}).status_code == 403
