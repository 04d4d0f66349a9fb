"""Each page looks as in the stored pictures, at two sizes, in the light and in the dark.

HEATLITE_TEST_PICTURES=renew stores new ones, and those of docs/users/console. A picture that differs is written to the
folder that this variable names, else to one of pytest, beside one that shows where.
"""

import json
import os
from pathlib import Path

import pytest

from tests.console import pictures, stacks
from tests.console.conftest import Service

ASKED = os.environ.get('HEATLITE_TEST_PICTURES', '')
DOCS = Path(__file__).parents[2] / 'docs/users/console'
IN_DOCS = ('stacks', 'graph', 'failure', 'timeline', 'template', 'plan', 'edit')
VARIANTS = {'wide': {'viewport': {'width': 1280, 'height': 800}},
            'dark': {'viewport': {'width': 1280, 'height': 800}, 'color_scheme': 'dark'},
            'narrow': {'viewport': {'width': 400, 'height': 800}}}


def chain(value):
    return stacks.template(network=stacks.test_resource(value=value), disk=stacks.test_resource('network', value=value),
                           server=stacks.test_resource('disk', value=value),
                           address=stacks.test_resource('server', value=value))


@pytest.fixture(scope='module')
def addresses(tmp_path_factory):
    """Each page of a service of its own, and words that it shows."""
    made = Service(tmp_path_factory.mktemp('pictures'))
    try:
        yield made.url, pages(made)
    finally:
        made.program.kill()


def pages(service):
    ids = {'shop': service.create('shop', stacks.SHOP, tags='production,web')}
    service.until('shop', 'CREATE_COMPLETE')
    ids['broken'] = service.create('broken', stacks.BROKEN, disable_rollback=True)
    service.until('broken', 'CREATE_FAILED')
    ids['chain'] = service.create('chain', chain('one'), tags='staging')
    service.until('chain', 'CREATE_COMPLETE')
    for value in ('two', 'three'):
        service.ask('PATCH', f'/stacks/chain/{ids["chain"]}', {'template': chain(value)})
        service.until('chain', 'UPDATE_COMPLETE')
    ids['slow'] = service.create('slow', stacks.SLOW)
    changed = stacks.SHOP.replace('size: 5', 'size: 8').replace('default: m1.small', 'default: m1.medium')
    changed = changed.replace('Router", properties: {name: shop}}', 'Router", properties: {name: shop-2}}')
    plan = service.ask('POST', f'/stacks/shop/{ids["shop"]}/plans', {'existing': True, 'template': changed})['plan']
    shop, broken, timed, slow = (f'#/stack/{name}/{ids[name]}' for name in ('shop', 'broken', 'chain', 'slow'))
    return {
        'stacks': ('#/stacks', 'broken'), 'graph': (shop, 'create complete'),
        'waiting': (slow + '/failure', 'Waiting for'),
        'failure': (broken + '/failure', 'What went wrong first'), 'timeline': (timed + '/timeline', '▲'),
        'resources': (timed + '/resources', 'address'), 'events': (timed + '/events', 'state changed'),
        'outputs': (broken + '/outputs', 'No outputs'),
        'template': (broken + '/template?resource=lamp', 'are marked'),
        'revisions': (timed + '/revisions?revision=2', 'Changes of revision 2'),
        'drift': (timed + '/drift', 'Not compared yet'),
        'guards': (timed + '/guards', 'Nothing is protected'), 'plans': ('#/plans', 'update shop'),
        'plan': (f'#/plan/{plan["id"]}', 'Totals'), 'edit': (shop + '/update', 'The template is valid'),
        'types': ('#/types/OS::Heat::RandomString', 'Number of characters'), 'operations': ('#/operations', 'host-1')}


@pytest.mark.parametrize('variant', VARIANTS)
def test_each_page_looks_as_it_did(visit, addresses, variant, tmp_path):
    url, found = addresses
    page = visit('#/nowhere', at=url, **VARIANTS[variant])
    if ASKED == 'renew':
        pictures.FOLDER.mkdir(exist_ok=True)
        pictures.FONTS.write_text(json.dumps(pictures.fonts(page)) + '\n')
    elif pictures.fonts(page) != json.loads(pictures.FONTS.read_text()):
        pytest.skip(f'other fonts than those of the pictures: {pictures.fonts(page)}')
    pictures.steady(page)
    page.reload()
    differ = []
    for name, (address, words) in found.items():
        page.evaluate('address => { location.hash = address }', address)
        page.get_by_text(words).first.wait_for()
        shown = pictures.taken(page)
        if ASKED == 'renew':
            pictures.store(page, f'{name}-{variant}', shown)
            if variant == 'wide' and name in IN_DOCS:
                (DOCS / f'{name}.png').write_bytes(shown)
            continue
        part, where = pictures.difference(page, f'{name}-{variant}', shown)
        if part > pictures.TOLERANCE:
            file = Path(ASKED or tmp_path) / f'{name}-{variant}-differs.png'
            file.write_bytes(where)
            file.with_name(f'{name}-{variant}.png').write_bytes(shown)
            differ.append(f'{file}: {part:.1%} of it')
    assert differ == []


def test_a_picture_that_differs_is_noticed(visit, addresses):
    """The comparison can fail: a page is not like another one."""
    url, found = addresses
    page = visit(found['types'][0], at=url)
    page.get_by_text(found['types'][1]).first.wait_for()
    shown = pictures.taken(page)
    assert pictures.difference(page, 'events-wide', shown)[0] > pictures.TOLERANCE
