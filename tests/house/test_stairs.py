"""Imports go down the stairs only, and the pure rooms stay pure."""

import pytest

from tests.house import source

# From the cellar up; a room may import rooms with a smaller number, and itself.
STAIRS = {'common': 0, 'language': 1, 'planning': 2, 'db': 3, 'rpc': 4, 'api': 5, 'engine': 5, 'wsgi': 6,
          'conformance': 6, 'cmd': 7}
# The same inside engine. `contract`: the modules that plug-in authors import, where Heat has them, and the clients.
ENGINE = {'compat': 0, 'durability': 0, 'contract': 1, 'types': 2, 'notify': 3, 'resources': 4, 'reconcile': 5,
          'requests': 6, 'service': 7}
CONTRACT = {'clients', 'plugins'}
# Still up: all of them inside functions. The registry is asked for by name where it should be handed in, and loading
# types needs the types. This list must not grow.
STILL_UP = {
    ('heatlite.engine.properties', 'heatlite.engine.types.generated_templates'),
    ('heatlite.engine.resource', 'heatlite.engine.types.generated_templates'),
    ('heatlite.engine.resource', 'heatlite.engine.types.registry'),
    ('heatlite.engine.resource_checking', 'heatlite.engine.types.registry'),
    ('heatlite.engine.types.plugin_loading', 'heatlite.engine.resources.rest.operator_types'),
    ('heatlite.engine.types.registry', 'heatlite.engine.resources.packed'),
    ('heatlite.engine.types.registry', 'heatlite.engine.resources.template_resource'),
    ('heatlite.engine.types.registry', 'heatlite.engine.resources.template_resource.TemplateResource'),
    ('heatlite.engine.compat.old_names', 'heatlite.engine.types.registry'),
}
PURE = ('language', 'planning')
IMPURE = {'time', 'threading', 'socket', 'os', 'random', 'secrets', 'uuid', 'select', 'subprocess', 'pathlib',
          'eventlet', 'greenlet', 'sqlalchemy', 'requests', 'keystoneauth1', 'oslo_config', 'oslo_messaging', 'oslo_db'}
# Of common, the pure rooms may use what computes; not what reads options, waits or connects.
IMPURE_COMMON = {'runtime', 'http_server', 'config', 'options', 'messaging', 'urlfetch', 'metrics', 'policy', 'context',
                 'crypt', 'password_gen', 'timeutils'}
GREEN_THREADS = {'eventlet', 'greenlet', 'gevent'}


def room(module):
    parts = module.split('.')
    return parts[1] if parts[0] == source.PACKAGE and len(parts) > 1 else None


def all_imports():
    return [each for name, path in source.modules().items() for each in source.imports(name, path)]


def test_every_room_is_on_the_stairs():
    rooms = {room(name) for name, path in source.modules().items() if room(name)}
    assert rooms - {'cloudsim'} <= set(STAIRS)


def test_imports_go_down():
    assert not [str(each) for each in all_imports() if goes_up(each)]


def goes_up(each):
    above, below = room(each.importer), room(each.imported)
    if above is None or below is None or above == below:
        return False
    if above == 'cloudsim':                     # reached over HTTP like a real cloud; it shares nothing with us
        return below != 'common'
    if below == 'cloudsim':
        return above != 'cmd'
    return STAIRS[below] >= STAIRS[above]


@pytest.mark.parametrize('importer, imported, up', [
    ('heatlite.planning.walk', 'heatlite.language.template', False),
    ('heatlite.language.template', 'heatlite.planning.walk', True),
    ('heatlite.api.wsgi', 'heatlite.engine.service', True),
    ('heatlite.engine.service', 'heatlite.api.wsgi', True),
    ('heatlite.cmd.engine', 'heatlite.engine.service', False),
    ('heatlite.cloudsim.nova', 'heatlite.engine.service', True),
    ('heatlite.engine.service', 'json', False),
])
def test_the_rule_itself(importer, imported, up):
    assert goes_up(source.Import(importer, imported, 1)) == up


def level(module):
    """The package of engine that a module is in; None outside of it."""
    parts = module.split('.')
    if parts[:2] != [source.PACKAGE, 'engine'] or len(parts) < 3:
        return None
    if parts[2] in CONTRACT:
        return 'contract'
    return parts[2] if parts[2] in ENGINE else 'contract'


def goes_up_inside(each):
    above, below = level(each.importer), level(each.imported)
    return above is not None and below is not None and above != below and ENGINE[below] >= ENGINE[above]


def test_imports_inside_engine_go_down():
    up = {(each.importer, each.imported) for each in all_imports() if goes_up_inside(each)}
    assert up - STILL_UP == set()
    assert STILL_UP - up == set(), 'these are mended: take them off the list'


@pytest.mark.parametrize('importer, imported, up', [
    ('heatlite.engine.requests.stacks', 'heatlite.engine.reconcile.controller', False),
    ('heatlite.engine.reconcile.controller', 'heatlite.engine.requests.stacks', True),
    ('heatlite.engine.durability.journal', 'heatlite.engine.resource', True),
    ('heatlite.engine.resource', 'heatlite.engine.durability.journal', False),
    ('heatlite.engine.resource', 'heatlite.engine.properties', False),
    ('heatlite.engine.service', 'heatlite.db.stacks', False),
])
def test_the_rule_inside(importer, imported, up):
    assert goes_up_inside(source.Import(importer, imported, 1)) == up


def test_pure_rooms_import_nothing_that_waits_throws_dice_or_touches_the_world():
    assert not [str(each) for each in all_imports() if room(each.importer) in PURE and is_impure(each.imported)]


def is_impure(module):
    parts = module.split('.')
    return parts[0] in IMPURE or (parts[:2] == [source.PACKAGE, 'common'] and parts[2] in IMPURE_COMMON)


def test_few_files_know_the_thread_library():
    """The clock and the threads; and the server, which wakes threads that wait for a peer."""
    knowing = {each.importer for each in all_imports() if each.imported.split('.')[0] in GREEN_THREADS}
    assert knowing == {'heatlite.common.runtime', 'heatlite.common.http_server', 'heatlite.conformance.runtime'}
