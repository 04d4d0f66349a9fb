"""Every page in a real browser: what it shows, what can be done there, that everybody can read it."""

import json
import re
from importlib.metadata import entry_points

import openstack
import pytest

from tests.console import stacks
from tests.console.conftest import Service
from tests.system import processes

TABS = ('graph', 'failure', 'timeline', 'resources', 'events', 'outputs', 'template', 'revisions', 'drift',
        'guards')


@pytest.fixture(scope='session')
def axe():
    package = pytest.importorskip('axe_playwright_python', reason='axe-playwright-python is not installed')
    return stacks.read_axe(package)


@pytest.fixture(scope='session')
def plan(service, seeded):
    """The id of a plan that updates, replaces, creates and deletes."""
    changed = stacks.SHOP.replace('size: 5', 'size: 8').replace('default: m1.small', 'default: m1.medium')
    changed = changed.replace('properties: {length: 20}', 'properties: {length: 24}').replace(
        'Router", properties: {name: shop}}',
        'Router", properties: {name: shop-2}}\n  key: {type: "OS::Heat::RandomString"}')
    body = {'existing': True, 'template': changed}
    return service.ask('POST', f'/stacks/shop/{seeded["shop"]}/plans', body)['plan']['id']


def addresses(seeded, plan):
    """Each page: name, address, words that it shows."""
    shop, broken = (f'#/stack/{name}/{seeded[name]}' for name in ('shop', 'broken'))
    return {
        'stacks': ('#/stacks', 'service-3'), 'filtered': ('#/stacks?q=nothing-like-it', 'No stack matches'),
        'graph': (shop, 'create complete'), 'slow': (f'#/stack/slow/{seeded["slow"]}', 'of 5 resources'),
        'waiting': (f'#/stack/slow/{seeded["slow"]}/failure', 'Waiting for others'),
        'failure': (f'{broken}/failure', 'What went wrong first'),
        'timeline': (f'{shop}/timeline', 'Each bar is the time'),
        'resources': (f'{shop}/resources', 'OS::Neutron::RouterInterface'),
        'events': (f'{shop}/events', 'state changed'), 'outputs': (f'{shop}/outputs', 'Address of the database'),
        'template': (f'{shop}/template', 'heat_template_version'),
        'revisions': (f'{shop}/revisions?revision=1', 'Changes of revision 1'),
        'drift': (f'{shop}/drift', 'Not compared yet'),
        'guards': (f'{shop}/guards', 'Nothing is protected'), 'plans': ('#/plans', 'update shop'),
        'plan': (f'#/plan/{plan}', 'Totals'), 'new': ('#/stacks/new', 'The template is valid'),
        'update': (f'{shop}/update', 'The template is valid'),
        'types': ('#/types/OS::Heat::RandomString', 'Number of characters'), 'operations': ('#/operations', 'up'),
        'entries': ('#/types/OS::Nova::Server', 'list of map'),
        'missing': ('#/nowhere', 'There is no such page'), 'gone': ('#/stack/a/b', 'does not exist any more')}


NAMES = tuple(addresses({'shop': '', 'broken': '', 'slow': ''}, ''))


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_everybody_can_read_every_page(visit, seeded, plan, axe, scheme):
    """The words are there, and axe finds nothing; in the dark it looks at the contrasts again."""
    rules = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] if scheme == 'light' else {
        'type': 'rule', 'values': ['color-contrast']}
    page = visit(color_scheme=scheme)
    page.evaluate(axe)
    for name, (address, words) in addresses(seeded, plan).items():
        page.evaluate('address => { location.hash = address }', address)
        page.get_by_text(words).first.wait_for()
        page.wait_for_timeout(150)                      # what fades in has its colours then
        found = page.evaluate('runOnly => axe.run(document, {runOnly})', rules)
        problems = [(each['id'], each['nodes'][0]['html'][:200], each['nodes'][0]['failureSummary'][:300])
                    for each in found['violations']]
        assert problems == [], name


def test_a_narrow_screen_scrolls_one_way(visit, seeded, plan):
    page = visit(viewport={'width': 400, 'height': 800})
    for name, (address, words) in addresses(seeded, plan).items():
        page.evaluate('address => { location.hash = address }', address)
        page.get_by_text(words).first.wait_for()
        wide = page.evaluate('document.documentElement.scrollWidth')
        assert wide <= 400, (name, wide)


def test_another_language(visit, seeded):
    page = visit(locale='zh-CN')
    page.get_by_role('heading', name='资源栈').wait_for()
    page.get_by_role('button', name='English').click()
    page.get_by_role('heading', name='Stacks', exact=True).wait_for()
    assert page.evaluate('document.documentElement.lang') == 'en'


def test_stacks_are_found_and_changed_together(visit, service, seeded):
    for number in range(3):
        service.create(f'many-{number}', stacks.template(a=stacks.test_resource()))
        service.until(f'many-{number}', 'CREATE_COMPLETE')
    page = visit()
    page.get_by_role('searchbox').fill('many-')
    page.get_by_text('3 of ').wait_for()
    assert page.url.endswith('#/stacks?q=many-')
    page.get_by_role('checkbox', name='Select all that are shown').check()
    page.get_by_role('button', name='Delete', exact=True).click()
    dialog = page.get_by_role('dialog')
    assert 'openstack stack delete --yes' in dialog.inner_text()
    dialog.get_by_role('button', name='Delete 3 stacks').click()
    page.get_by_text('No stack matches').wait_for()     # events bring it


def write(page, text):
    """Replaces what is in the editor; returns the editor.

    `Locator.fill` selects everything in the document of the browser, and the editor, which has just got the focus, may
    put its own selection there before the text is inserted.
    """
    editor = page.locator('.editor .cm-content')
    editor.focus()
    page.keyboard.press('ControlOrMeta+a')
    page.keyboard.insert_text(text)
    return editor


def test_a_stack_is_created_from_the_editor_planned_applied_and_deleted(visit, service, seeded):
    # Chromium itself wants a style for text that a program fills in; the policy refuses, and nothing is lost.
    page = visit('#/stacks/new', expected=('Applying inline style violates',))
    page.get_by_text('The template is valid').wait_for()
    write(page, 'heat_template_version: 2021-04-16\nresources:\n  a:\n    type: OS::Heat::RandomString\n'
                '    properties: {lenght: 3}\n')
    complaint = page.locator('.complaints')
    complaint.wait_for()
    assert re.search(r'5:\d+ .*Unknown Property lenght', complaint.inner_text())
    assert page.locator('.editor .cm-lint-marker-error').count() == 1
    assert page.get_by_role('button', name='Plan', exact=True).is_disabled()
    write(page, 'heat_template_version: 2021-04-16\n'
                'parameters:\n  size: {type: number, constraints: [{range: {max: 64}}]}\n'
                'resources:\n  a:\n    type: OS::Heat::RandomString\n    properties: {length: {get_param: size}}\n')
    page.get_by_text('The template is valid').wait_for()
    page.get_by_label('Name of the stack').fill('written')
    page.get_by_label('size (required)').fill('12')
    page.get_by_role('button', name='Plan', exact=True).click()
    page.get_by_role('heading', name='Plan: create written').wait_for()
    assert page.get_by_text('1 create').is_visible()
    page.get_by_role('button', name='Apply', exact=True).click()
    page.get_by_role('dialog').get_by_role('button', name='Apply', exact=True).click()
    page.get_by_role('heading').get_by_text('create complete').wait_for()
    page.get_by_role('link', name='Update', exact=True).click()
    page.get_by_text('The template is valid').wait_for()
    page.get_by_label('size').fill('20')
    page.get_by_role('button', name='Update', exact=True).click()
    page.get_by_role('heading').get_by_text('update complete').wait_for()
    page.get_by_role('button', name='Delete', exact=True).click()
    page.get_by_role('dialog').get_by_role('button', name='Delete', exact=True).click()
    page.get_by_role('heading', name='Stacks', exact=True).wait_for()
    page.get_by_role('link', name='written', exact=True).wait_for(state='detached')


CHOOSING = """heat_template_version: 2021-04-16
parameters:
  image: {type: string, constraints: [{custom_constraint: glance.image}]}
  flavor: {type: string, default: m1.small, constraints: [{custom_constraint: nova.flavor}]}
  network: {type: string, constraints: [{custom_constraint: neutron.network}]}
  address: {type: string, default: 10.0.0.9, constraints: [{custom_constraint: ip_addr}]}
resources:
  server:
    type: OS::Nova::Server
    properties:
      image: {get_param: image}
      flavor: {get_param: flavor}
      networks: [{network: {get_param: network}}]
"""


def test_images_flavors_and_networks_are_chosen_from_lists(visit, service, seeded):
    """As the cloud has them; where there is no list, there is a field."""
    page = visit('#/stacks/new', expected=('Applying inline style violates',))
    write(page, CHOOSING)
    page.get_by_label('image (required)').select_option('cirros')
    flavor = page.get_by_label('flavor', exact=False)
    flavor.select_option('m1.tiny')
    assert flavor.locator('option').first.inner_text() == 'm1.small'
    page.get_by_label('network (required)').select_option('public')
    page.locator('label.field').filter(has_text='address').locator('input').wait_for()
    page.get_by_label('Name of the stack').fill('chosen')
    assert "flavor=m1.tiny" in page.locator('.edit-side .command').inner_text()
    page.get_by_role('button', name='Plan', exact=True).click()
    page.get_by_role('heading', name='Plan: create chosen').wait_for()


def test_nothing_is_typed_where_a_list_will_be(visit, service, seeded):
    """What was typed before the values came would be lost."""
    page = visit('#/stacks/new', expected=('Applying inline style violates',))
    held = []
    page.route('**/constraints/glance.image/values', lambda route: held.append(route))
    write(page, CHOOSING)
    page.get_by_label('flavor', exact=False).select_option('m1.tiny')
    image = page.get_by_label('image (required)')
    assert image.is_disabled()
    assert image.locator('option').all_inner_texts() == ['The values are being read …']
    held.pop().continue_()
    image.select_option('cirros')


def test_a_form_without_lists_has_fields(visit, service, seeded):
    """While the service does not answer, values can be typed."""
    failing(service.cloud, [{'kind': 'error', 'service': 'compute', 'path': '*/flavors', 'status': 503, 'count': 0}])
    try:
        page = visit('#/stacks/new', expected=('Applying inline style violates',))
        write(page, CHOOSING)
        page.get_by_text('The list of values cannot be read: the service does not answer.').wait_for()
        page.get_by_label('flavor', exact=False).fill('m1.tiny')
        page.get_by_label('image (required)').select_option('cirros')
    finally:
        failing(service.cloud, [])


def failing(cloud, rules):
    """Has the simulated cloud fail in these ways, and in no other."""
    assert processes.ask('DELETE', f'{cloud}/_sim/faults')[0] < 300
    for rule in rules:
        assert processes.ask('POST', f'{cloud}/_sim/faults', rule)[0] < 300


BEFORE = """heat_template_version: 2021-04-16
parameters:
  size: {type: number}
resources:
  password:
    type: OS::Heat::RandomString
  server:
    type: OS::Nova::Server
    properties:
"""


@pytest.mark.parametrize('written, label, words', [
    ('      flav', 'flavor', 'Flavor, by name or id'),
    ('      networks:\n        - fixed', 'fixed_ip', None),
    ('      networks:\n      - network: private\n        subn', 'subnet', None),
    ('      networks: [{por', 'port', None),
    ('      config_drive: tr', 'true', None),
    ('      software_config_transport: POLL_TEMP', 'POLL_TEMP_URL', None),
    ('      flavor: {get_pa', 'get_param', 'parameter references'),
    ('      flavor: {get_param: si', 'size', None),
    ('      flavor: {get_param: OS::st', 'OS::stack_name', None),
    ('      image: {get_resource: pas', 'password', None),
    ('    depends_on: [pas', 'password', None),
    ('    depends_on:\n      - pas', 'password', None),
    ('      name: {get_attr: [password, val', 'value', None),
    ('    deletion_policy: Ret', 'Retain', None),
    ('    depe', 'depends_on', None),
    ('  other: {type: "OS::Heat::RandomString", properties: {len', 'length', 'Number of characters'),
    ('  other: {type: OS::Heat::Rand', 'OS::Heat::RandomString', None),
    ('outputs:\n  one:\n    value: {list_j', 'list_join', None)])
def test_the_editor_completes_from_the_catalogue(visit, seeded, written, label, words):
    page = visit('#/stacks/new', expected=('Applying inline style violates',))
    editor = write(page, BEFORE + written)
    page.keyboard.press('Control+ ')
    options = page.locator('.cm-tooltip-autocomplete')
    option = options.locator('li').filter(has=page.locator('.cm-completionLabel', has_text=re.compile(f'^{label}$')))
    option.wait_for()
    assert options.locator('.cm-completionLabel', has_text=re.compile('^heat_template_version')).count() == 0
    if words:
        page.locator('.cm-completionInfo', has_text=words).wait_for()
    option.click()
    assert label in editor.locator('.cm-line').last.inner_text()


def test_the_editor_explains_what_the_mouse_is_on(visit, seeded):
    page = visit('#/stacks/new', expected=('Applying inline style violates',))
    write(page, BEFORE + '      flavor: m1.small\n')
    page.locator('.editor .cm-line').get_by_text('flavor').hover()
    page.locator('.explained', has_text='Flavor, by name or id').wait_for()


def test_a_failure_is_explained_first(visit, seeded):
    page = visit(f'#/stack/broken/{seeded["broken"]}')
    page.locator('.notice.reason').get_by_role('link').click()
    cause = page.locator('.cause')
    cause.wait_for()
    assert 'Test Resource failed lamp' in cause.inner_text()
    assert 'resources.lamp' in cause.inner_text()
    for name in ('table', 'chair'):
        assert page.locator('.tag', has_text=name).is_visible()


def blame(page):
    """What the graph says of each resource."""
    items = page.locator('.blame .sr-only li')
    items.first.wait_for(state='attached')
    return dict(each.split(' ', 1) for each in items.all_text_contents())


def test_a_failure_shows_who_is_to_blame(visit, seeded):
    page = visit(f'#/stack/broken/{seeded["broken"]}/failure')
    assert blame(page) == {'network': 'Not involved', 'roof': 'Not involved', 'lamp': 'Went wrong',
                           'table': 'Not started because of it', 'chair': 'Not started because of it'}
    page.locator('.blame canvas').focus()
    for key in 'npn':
        page.keyboard.press(key)
    page.get_by_role('status').filter(has=page.get_by_role('link', name='Show where it is written')).wait_for()


def test_a_rollback_shows_what_it_has_taken_back(visit, service):
    def made(value, **more):
        return stacks.template(network=stacks.test_resource(value=value),
                               lamp=stacks.test_resource('network', value=value, **more),
                               table=stacks.test_resource('lamp', value=value))

    fails = made('two', fail=True)
    fails['resources']['chair'] = stacks.test_resource('network')           # deleted again
    stack_id = service.create('taken-back', made('one'))
    service.until('taken-back', 'CREATE_COMPLETE')
    service.ask('PATCH', f'/stacks/taken-back/{stack_id}', {'template': fails, 'disable_rollback': False})
    service.until('taken-back', 'ROLLBACK_COMPLETE')
    found = blame(visit(f'#/stack/taken-back/{stack_id}/failure'))
    assert found.pop('chair', 'Rolled back') == 'Rolled back'               # if it began before the lamp failed
    assert found == {'network': 'Rolled back', 'lamp': 'Went wrong', 'table': 'Not started because of it'}


def test_the_timeline_stands_beside_the_time_before(visit, service):
    def slow(value, seconds):
        return stacks.template(slow=stacks.test_resource(value=value, wait_secs=seconds),
                               next=stacks.test_resource('slow', value=value))

    stack_id = service.create('timed', slow('one', 0))
    service.until('timed', 'CREATE_COMPLETE')
    page = visit(f'#/stack/timed/{stack_id}/timeline')
    rows = page.locator('.timeline li')
    rows.nth(1).wait_for()
    assert rows.locator('.before').count() == 0                             # nothing before to compare with
    for value, seconds in (('two', 0), ('three', 5)):
        service.ask('PATCH', f'/stacks/timed/{stack_id}', {'template': slow(value, seconds)})
        service.until('timed', 'UPDATE_COMPLETE')
        page.locator('.timeline p', has_text='update').wait_for()
    bar = page.locator('.timeline li', has_text='slow').first
    bar.get_by_text('slower, ').wait_for()
    assert bar.get_by_role('img', name='On the critical path').is_visible()
    assert bar.locator('.run-before').bounding_box()['width'] < bar.locator('.run').bounding_box()['width']
    service.ask('PATCH', f'/stacks/timed/{stack_id}', {'template': slow('four', 0)})
    bar.get_by_text('faster, ').wait_for()


NESTED = """heat_template_version: 2021-04-16
resources:
  lamp:
    type: OS::Heat::TestResource
    properties: {value: bright}
  table:
    type: OS::Heat::TestResource
"""


@pytest.mark.parametrize('path, file, words', [
    (['single'], None, 'single:\n    type: OS::Heat::Value\n    properties:\n      value: 1'),
    (['members', '1'], None, 'members:\n    type: OS::Heat::ResourceGroup'),
    (['inner', 'lamp'], 'inner.yaml', '  lamp:\n    type: OS::Heat::TestResource\n    properties: {value: bright}\n'),
    (['rooms', '0', 'table'], 'inner.yaml', '  table:\n    type: OS::Heat::TestResource\n')])
def test_the_lines_of_a_resource_are_marked(visit, service, path, file, words):
    """Of the stack, of a member of a group, of a nested stack, and of a nested stack in a group."""
    stack_id = written(service)
    address = '/'.join(path)
    page = visit(f'#/stack/written-down/{stack_id}/template?resource={address.replace("/", "%2F")}')
    marked = page.locator('pre.code mark')
    marked.wait_for()
    assert words in marked.text_content()
    assert ('other' in marked.text_content()) is False
    assert marked.bounding_box()['y'] < 800                                 # scrolled to
    if file is not None:
        assert page.get_by_role('heading', name=re.compile(f'^File .*{file}$')).is_visible()


def test_the_graph_leads_to_the_lines(visit, service):
    stack_id = written(service)
    page = visit(f'#/stack/written-down/{stack_id}/resources')
    page.get_by_role('link', name='Show where it is written: single').click()
    assert 'single' in page.locator('pre.code mark').text_content()
    page.get_by_role('link', name='Show the template without marks').click()
    page.locator('pre.code mark').wait_for(state='detached')


def written(service):
    """The id of a stack with a group, a nested stack, and a group of nested stacks."""
    found = service.ask('GET', '/stacks?name=written-down')['stacks']
    if found:
        return found[0]['id']
    made = service.create('written-down', {'heat_template_version': '2021-04-16', 'resources': {
        'other': {'type': 'OS::Heat::Value', 'properties': {'value': 'resources:'}},
        'single': {'type': 'OS::Heat::Value', 'properties': {'value': 1}},
        'members': {'type': 'OS::Heat::ResourceGroup', 'properties': {
            'count': 2, 'resource_def': stacks.test_resource()}},
        'inner': {'type': 'inner.yaml'},
        'rooms': {'type': 'OS::Heat::ResourceGroup', 'properties': {
            'count': 2, 'resource_def': {'type': 'inner.yaml'}}}}}, files={'inner.yaml': NESTED})
    service.until('written-down', 'CREATE_COMPLETE')
    return made


def test_the_graph_opens_what_is_inside(visit, seeded):
    page = visit(f'#/stack/shop/{seeded["shop"]}')
    canvas = page.locator('canvas')
    canvas.wait_for()
    assert page.locator('.graph .sr-only li').count() == 11
    canvas.focus()
    for key in ('ArrowLeft', '+', '-', '0', 'p'):
        page.keyboard.press(key)
    page.locator('.panel', has_text='OS::Heat::ResourceGroup').wait_for()
    page.keyboard.press('Enter')
    page.get_by_role('button', name='Fold all').click()
    canvas.click(position={'x': 5, 'y': 5})
    page.locator('.panel').wait_for(state='detached')
    canvas.focus()
    page.keyboard.press('p')
    page.get_by_role('link', name='Open nested stack').click()
    page.get_by_role('heading', name=re.compile('^shop-web-')).wait_for()


def test_more_events_than_one_answer_holds_come_with_scrolling(visit, service):
    stack_id = service.create('eventful', stacks.template(group={
        'type': 'OS::Heat::ResourceGroup', 'properties': {
            'count': 480, 'resource_def': {'type': 'OS::Heat::Value', 'properties': {'value': 1}}}}, first={
                'type': 'OS::Heat::ResourceGroup', 'properties': {
                    'count': 60, 'resource_def': {'type': 'OS::Heat::Value', 'properties': {'value': 1}}}}))
    service.until('eventful', 'CREATE_COMPLETE')
    page = visit(f'#/stack/eventful/{stack_id}/events')
    table = page.get_by_role('table')
    table.wait_for()
    for count in (1001, 1091):                          # with the head
        page.locator(f'[role=table][aria-rowcount="{count}"]').wait_for()
        table.evaluate('each => { each.scrollTop = each.scrollHeight }')
    page.locator('[role=row][aria-rowindex="1091"]').wait_for()


COUNT_DRAWN = """() => { for (const name of ['fillText', 'roundRect', 'fillRect', 'lineTo', 'bezierCurveTo']) {
    const draw = CanvasRenderingContext2D.prototype[name]
    CanvasRenderingContext2D.prototype[name] = function (...args) {
        window.drawn = (window.drawn ?? 0) + 1
        return draw.apply(this, args)
    }
}}"""


def test_choosing_in_the_graph_draws_what_it_changes(visit, service):
    """Not all of the resources again; a movement of the graph does that."""
    count = 120
    stack_id = service.create('wide', stacks.template(**{
        f'node-{number}': stacks.test_resource(*([f'node-{number - 9}'] if number > 8 else []))
        for number in range(count)}))
    service.until('wide', 'CREATE_COMPLETE')
    page = visit()
    page.evaluate(COUNT_DRAWN)
    page.evaluate('address => { location.hash = address }', f'#/stack/wide/{stack_id}')
    canvas = page.locator('canvas')
    canvas.focus()
    page.keyboard.press('n')
    page.locator('.panel', has_text='openstack stack resource show').wait_for()
    page.wait_for_timeout(200)                          # the graph has its new width then

    def drawn(key):
        page.evaluate('window.drawn = 0')
        page.keyboard.press(key)
        page.evaluate('() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
        return page.evaluate('window.drawn')

    assert 0 < drawn('n') < 10
    assert drawn('ArrowLeft') > count


@pytest.mark.parametrize('name, listed, key', [
    ('OS::Nova::Server', 'list of map', 'fixed_ip'), ('OS::Neutron::SecurityGroup', 'list of map', 'port_range_min'),
    ('OS::Heat::SoftwareConfig', 'list of map', 'error_output')])
def test_a_type_shows_the_keys_of_entries(visit, name, listed, key):
    """The schema of the entries of a list is under the key `*`, which is the name of no property."""
    page = visit(f'#/types/{name}')
    page.get_by_role('heading', name=name).wait_for()
    assert page.locator('dt', has_text=listed).count() > 0
    assert page.locator('dt code', has_text=re.compile(r'^\*$')).count() == 0
    keys = page.locator('dt code', has_text=re.compile(f'^{key}$'))
    keys.locator('xpath=ancestor::details/summary').first.click()
    assert keys.first.is_visible()


def test_drift_is_looked_for_and_shown(visit, service, seeded):
    stack_id = service.create('drifting', stacks.template(net={
        'type': 'OS::Neutron::Net', 'properties': {'name': 'as-applied'}}))
    service.until('drifting', 'CREATE_COMPLETE')
    page = visit(f'#/stack/drifting/{stack_id}/drift')
    page.get_by_role('button', name='Compare now').click()
    page.get_by_role('heading', name='Nothing differs').wait_for()
    rename_network(service.cloud, 'as-applied', 'by-somebody')
    page.get_by_role('button', name='Compare now').click()
    page.get_by_role('cell', name='by-somebody').wait_for()
    assert page.get_by_role('cell', name='as-applied').is_visible()
    page.get_by_text('changed: 1').wait_for()


def rename_network(cloud, name, new):
    """As another program does it, in the simulated cloud."""
    with openstack.connect(auth_url=f'{cloud}/v3', username='admin', password='secret', project_name='admin',
                           user_domain_id='default', project_domain_id='default') as other:
        other.network.update_network(other.network.find_network(name), name=new)


def test_protections_and_locks(visit, service, seeded):
    stack_id = service.create('guarded', stacks.template(a=stacks.test_resource()))
    service.until('guarded', 'CREATE_COMPLETE')
    page = visit(f'#/stack/guarded/{stack_id}/guards')
    page.get_by_role('button', name='Protect', exact=True).click()
    page.get_by_role('button', name='Remove').wait_for()
    page.get_by_role('button', name='Delete', exact=True).click()
    page.get_by_role('dialog').get_by_role('button', name='Delete', exact=True).click()
    page.get_by_role('dialog').get_by_text('is protected').wait_for()
    page.keyboard.press('Escape')
    page.get_by_role('button', name='Remove').click()
    page.get_by_text('Nothing is protected').wait_for()
    page.get_by_role('textbox', name='Reason').last.fill('until noon')
    page.get_by_role('button', name='Lock', exact=True).click()
    page.get_by_text('until noon').wait_for()
    page.get_by_role('button', name='Unlock', exact=True).click()
    page.get_by_role('button', name='Lock', exact=True).wait_for()


def test_nothing_that_users_write_runs(visit, service, seeded):
    """A script in every text of a stack, on every part of its page."""
    page = visit(f'#/stack/hostile/{seeded["hostile"]}')
    for tab in TABS:
        page.evaluate('address => { location.hash = address }', f'#/stack/hostile/{seeded["hostile"]}/{tab}')
        page.locator('nav.tabs a[aria-current]').wait_for()
        page.wait_for_timeout(250)
        assert page.evaluate('window.hacked') is None, tab
        assert page.locator('main img').count() == 0, tab
        assert page.locator('a[href^="javascript"]').count() == 0, tab
    page.evaluate('address => { location.hash = address }', f'#/stack/hostile/{seeded["hostile"]}/outputs')
    page.get_by_text('<script>window.hacked=1</script>').first.wait_for()
    page.evaluate('address => { location.hash = address }', f'#/stack/hostile/{seeded["hostile"]}/update')
    page.get_by_text('The template is valid').wait_for()
    page.goto(f'{service.url}/console/#/stack/{stacks.SCRIPT.replace("/", "%2F")}/x')
    page.get_by_text('does not exist any more').wait_for()
    assert page.evaluate('window.hacked') is None


def test_a_script_that_gets_into_the_page_is_not_run(visit, seeded):
    """The content policy holds whatever the console does."""
    page = visit(expected=('Executing inline script violates',))
    page.get_by_role('heading', name='Stacks', exact=True).wait_for()
    page.evaluate("""() => new Promise(resolve => {
        document.addEventListener('securitypolicyviolation', resolve, {once: true})
        const script = document.createElement('script')
        script.textContent = 'window.hacked = 1'
        document.body.append(script)
    })""")
    assert page.evaluate('window.hacked') is None


@pytest.fixture
def own(tmp_path):
    made = Service(tmp_path)
    yield made
    made.program.kill()


def test_the_page_goes_on_by_itself_after_a_crash(visit, own):
    """API and engine are killed while somebody looks; a stack that is made afterwards appears."""
    page = visit(at=own.url)
    page.get_by_text('Live', exact=True).wait_for()
    own.program.kill()
    page.get_by_text('Connecting…').wait_for()
    own.start()
    page.get_by_text('Live', exact=True).wait_for()
    own.create('afterwards', stacks.template(a=stacks.test_resource()))
    page.get_by_role('link', name='afterwards').wait_for()


def test_operations_show_the_work_of_the_engines(visit, service, seeded):
    page = visit('#/operations')
    page.get_by_role('heading', name='Queue').wait_for()
    assert page.get_by_text('Stacks that will be taken over').is_visible()
    work = page.get_by_role('row', name=re.compile('^create [1-9]'))          # the stack `slow` at least
    work.wait_for()
    engine = page.get_by_role('row', name=re.compile('^up '))
    assert int(engine.get_by_role('cell').nth(3).inner_text()) > 0


# Of buttons that change nothing in the service.
VIEWING = ('+', '\N{MINUS SIGN}', 'Fit', 'Fold all', '✕', 'Copy', 'Close', 'Cancel', 'Try again')
# Of each button for an action: its text, and the command beside it, or that of the dialog that it is in.
ACTIONS = """viewing => [...document.querySelectorAll('main button, dialog button')]
    .filter(each => each.checkVisibility() && !each.matches('.copy') && !viewing.includes(each.innerText.trim()))
    .map(each => {
        const near = each.closest('.act, dialog')?.querySelector('[aria-label^="Copy as command: "]')
        return [each.innerText.trim(), near?.getAttribute('aria-label').replace('Copy as command: ', '') ?? null]
    })"""


def test_beside_each_action_is_its_command(visit, service, seeded, plan):
    """On every page, with all that can be opened; each command is one that the client has."""
    known = {each.name.replace('_', ' ') for each in entry_points(group='openstack.orchestration.v1')}
    changing = service.create('changing', stacks.template(a=stacks.test_resource(value='1')))
    service.until('changing', 'CREATE_COMPLETE')
    service.ask('PUT', f'/stacks/changing/{changing}/protections', {
        'protections': [{'path': 'a', 'deny': ['delete'], 'reason': ''}]})
    service.ask('PATCH', f'/stacks/changing/{changing}', {
        'template': stacks.template(a=stacks.test_resource(value='2', wait_secs=900))})
    page = visit()
    found = {}

    def look(words):
        page.get_by_text(words).first.wait_for()
        found.update(page.evaluate(ACTIONS, VIEWING))

    pages = {**addresses(seeded, plan), 'changing': (f'#/stack/changing/{changing}', 'update in progress'),
             'protected': (f'#/stack/changing/{changing}/guards', 'Remove')}
    shop = f'#/stack/shop/{seeded["shop"]}'
    changed = service.ask('GET', f'/stacks/shop/{seeded["shop"]}/template')
    changed['description'] = 'Another shop'
    service.ask('PATCH', f'/stacks/shop/{seeded["shop"]}', {'template': changed})
    service.until('shop', 'UPDATE_COMPLETE')
    for address, words in (*pages.values(), (f'{shop}/revisions?revision=1', 'Plan to go back to 1')):
        page.evaluate('address => { location.hash = address }', address)
        look(words)
    page.evaluate('address => { location.hash = address }', shop)
    page.get_by_text('More actions').click()
    look('Suspend')
    page.get_by_role('button', name='Delete', exact=True).click()
    look('Delete stack shop?')
    page.keyboard.press('Escape')
    page.evaluate('location.hash = "#/stacks?q=service-"')
    page.get_by_role('checkbox', name='Select all that are shown').check()
    look('6 selected')
    assert {name for name, command in found.items() if command is None} == set()
    assert set(found) >= {
        'Create', 'Update', 'Plan', 'Check', 'Suspend', 'Resume', 'Delete', 'Cancel update', 'Approve', 'Apply',
        'Delete plan', 'Protect', 'Remove', 'Lock', 'Compare now', 'Plan to go back to 1'}
    for name, command in found.items():
        words = command.split()
        assert words[0] == 'openstack', name
        assert any(' '.join(words[1:end]) in known for end in range(2, 6)), command
    service.ask('DELETE', f'/stacks/changing/{changing}/protections')
    service.ask('DELETE', f'/stacks/changing/{changing}')


def test_the_command_of_a_form_has_what_is_written_in_it(visit, seeded):
    page = visit(f'#/stack/shop/{seeded["shop"]}/guards', permissions=['clipboard-read', 'clipboard-write'])
    page.get_by_label('Path').fill('web/0')
    page.get_by_role('textbox', name='Reason').first.fill("it's mine")
    page.get_by_role('checkbox', name='replace').check()
    page.get_by_role('button', name='Copy as command: openstack stack protect').click()
    assert page.evaluate('navigator.clipboard.readText()') == (
        "openstack stack protect shop --resource web/0 --deny replace --deny delete --reason 'it'\\''s mine'")


def test_what_the_session_leaves_behind(visit, seeded):
    page = visit()
    page.get_by_role('heading', name='Stacks', exact=True).wait_for()
    kept = page.evaluate('JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])')
    assert json.loads(kept) == ['', {}, {}]
