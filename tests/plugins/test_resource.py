"""The rules of the base class that every type inherits."""

from __future__ import annotations

import uuid

import pytest

from heatlite.common import exception
from heatlite.common.green_threads import GreenRuntime
from heatlite.engine import attributes, clients, properties, resource, rsrc_defn, translation
from heatlite.engine.clients import client_plugin
from heatlite.language.unknown import UNKNOWN
from tests.plugins.bench import Bench

S = properties.Schema
LAMPS = {}                                  # the service behind: id -> what it says
DELETES = []                                # ids of which it was asked to delete the lamp


class NoLamp(Exception):
    pass


class LanternPlugin(client_plugin.ClientPlugin):
    def _create(self):
        class Lamps:
            @staticmethod
            def get(lamp):
                if lamp not in LAMPS:
                    raise NoLamp(lamp)
                return LAMPS[lamp]

            @staticmethod
            def delete(lamp):
                DELETES.append(lamp)
                if lamp not in LAMPS:
                    raise NoLamp(lamp)
                del LAMPS[lamp]

        class Client:
            lamps = Lamps

        return Client

    def is_not_found(self, ex):
        return isinstance(ex, NoLamp)

    def find(self, name):
        if name.startswith('no'):
            raise NoLamp(name)
        return f'id-of-{name}'


class Lamp(resource.Resource):
    """A lamp behind a service."""

    default_client_name = 'lantern'
    entity = 'lamps'
    physical_resource_name_limit = 20
    properties_schema = {
        'name': S(S.STRING, update_allowed=True),
        'description': S(S.STRING, update_allowed=True),
        'watts': S(S.INTEGER, default=5, update_allowed=True),
        'street': S(S.STRING),
        'shape': S(S.STRING, immutable=True),
    }
    attributes_schema = {
        'watts': attributes.Schema('Power.', type=attributes.Schema.INTEGER),
        'state': attributes.Schema('State.', cache_mode=attributes.Schema.CACHE_NONE),
        'parts': attributes.Schema('Parts.'),
    }
    asked = 0

    def translation_rules(self, props):
        return [translation.TranslationRule(props, translation.RESOLVE, ['street'], client_plugin=self.client_plugin(),
                                            finder='find')]

    def handle_create(self):
        LAMPS['l1'] = {'name': 'x', 'watts': self.properties['watts'], 'state': 'on', 'colour': 'red'}
        self.resource_id_set('l1')

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        LAMPS[self.resource_id].update(prop_diff)

    def _resolve_attribute(self, name):
        type(self).asked += 1
        if name == 'parts':
            return [{'bulb': 'b1'}, {'bulb': 'b2'}]
        return self._show_resource()[name]


@pytest.fixture(autouse=True)
def lantern(types, monkeypatch):
    LAMPS.clear()
    DELETES.clear()
    monkeypatch.setitem(clients.BUILT_IN, 'lantern', f'{__name__}:LanternPlugin')
    clients.initialise()
    types.register('Acme::Lamp', Lamp)
    yield
    clients.initialise()


# --- names and references --------------------------------------------------------------------------------

def test_the_physical_name_and_its_limit():
    bench = Bench('Acme::Lamp', name='lamp')
    assert bench.fresh('INIT', 'COMPLETE').physical_resource_name() is None
    name = bench.fresh('CREATE').physical_resource_name()
    assert len(name) == 20 and name.startswith('ci-')
    assert resource.Resource.reduce_physical_resource_name('abcdefghij', 6) == 'ab-hij'
    assert resource.Resource.reduce_physical_resource_name('abcdef', 6) == 'abcdef'
    with pytest.raises(ValueError, match='limit cannot be less than 4'):
        resource.Resource.reduce_physical_resource_name('abcdef', 3)


@pytest.mark.parametrize('entity', ['lanterns', '__doc__'], ids=['unknown', 'without-get'])
def test_an_unknown_collection_shows_nothing(monkeypatch, caplog, entity):
    """As in Heat, where the attribute is None and the log has the reason."""
    monkeypatch.setattr(Lamp, 'entity', entity)
    made = Bench('Acme::Lamp').create()
    assert made.FnGetAtt('show') is None and made.get_live_state({}) == {}
    assert next(record.getMessage() for record in caplog.records if 'show' in record.getMessage()).startswith(
        f'Resource r shows nothing: the client "lantern" has no collection "{entity}" with get')


def test_an_error_of_the_collection_itself_is_none_of_the_name(monkeypatch):
    def get(lamp):
        raise AttributeError('broken')

    made = Bench('Acme::Lamp').create()
    monkeypatch.setattr(made.client().lamps, 'get', get)
    with pytest.raises(AttributeError, match='broken'):
        made.FnGetAtt('show')


def test_short_ids_are_the_random_bits_of_the_uuid():
    from heatlite.common import short_id
    assert short_id.get_id('11111111-1111-4111-bfff-ffffffffffff') == 'ceirceirceir'
    assert short_id.get_id('ffffffff-ffff-4fff-bfff-ffffffffffff') == '777777777777'
    assert short_id.get_id('00000000-0000-4000-bfff-ffffffffffff') == 'aaaaaaaaaaaa'
    text = 'f00dfeed-1234-4abc-9fff-ffffffffffff'
    assert {short_id.get_id(each) for each in (text, text.upper(), text.replace('-', ''), uuid.UUID(text))} == {
        'vpasgtya37xn'}
    assert len(short_id.generate_id()) == 12
    with pytest.raises(ValueError, match=r'Invalid UUID version \(1\)'):
        short_id.get_id('f81d4fae-7dec-11d0-a765-00a0c91e6bf6')


def test_reference_and_text():
    bench = Bench('Acme::Lamp')
    assert bench.fresh('INIT', 'COMPLETE').FnGetRefId() == 'r'
    made = bench.create()
    assert made.FnGetRefId() == 'l1' and str(made) == 'Lamp "r" [l1] Stack "city" [stack-id]'
    assert made.identifier().url_path() == 'p/stacks/city/stack-id/resources/r'
    with pytest.raises(ValueError, match='may not contain "/"'):
        Bench('Acme::Lamp', name='a/b').fresh('INIT', 'COMPLETE')


# --- attributes ------------------------------------------------------------------------------------------

def test_attributes_are_kept_unless_declared_otherwise():
    made = Bench('Acme::Lamp').create()
    Lamp.asked = 0
    assert [made.FnGetAtt('watts'), made.FnGetAtt('watts')] == [5, 5] and Lamp.asked == 1
    assert [made.FnGetAtt('state'), made.FnGetAtt('state')] == ['on', 'on'] and Lamp.asked == 3
    assert made.cached_attributes() == {'watts': 5}
    made.clear_attributes()
    LAMPS['l1']['watts'] = 9
    assert made.FnGetAtt('watts') == 9


@pytest.mark.parametrize('path, value', [
    ((0, 'bulb'), 'b1'), ((1, 'bulb'), 'b2'), (('1', 'bulb'), None),
    ((2, 'bulb'), None), ((0, 'cord'), None), (('x',), None),
    ((0, 'bulb', 0), 'b'), ((0, 'bulb', 7), None), ((), [{'bulb': 'b1'}, {'bulb': 'b2'}]),
])
def test_paths_into_attributes(path, value):
    assert Bench('Acme::Lamp').create().FnGetAtt('parts', *path) == value


def test_show_and_things_that_are_gone():
    made = Bench('Acme::Lamp').create()
    assert made.FnGetAtt('show')['colour'] == 'red'
    del LAMPS['l1']
    assert made.FnGetAtt('show') is None and made.FnGetAtt('watts') is None
    assert Bench('Acme::Lamp').fresh('INIT', 'COMPLETE').FnGetAtt('show') is None
    with pytest.raises(exception.InvalidTemplateAttribute) as error:
        made.FnGetAtt('nothing')
    assert str(error.value) == 'The Referenced Attribute (r nothing) is incorrect.'


def test_a_type_with_attributes_of_its_own_making_is_kept_by_path():
    class Dynamic(Lamp):
        def get_attribute(self, key, *path):
            type(self).asked += 1
            return [key, *path]

    bench = Bench('Acme::Dynamic')
    from heatlite.engine.types import registry
    registry.current().register('Acme::Dynamic', Dynamic)
    made = bench.create()
    Dynamic.asked = 0
    assert made.FnGetAtt('parts', 1, 'a') == made.FnGetAtt('parts', 1, 'a') == ['parts', 1, 'a']
    assert Dynamic.asked == 1
    bench.record.attributes = made.cached_attributes()
    assert bench.record.attributes == {'["parts", 1, "a"]': ['parts', 1, 'a']}
    assert bench.fresh('CREATE', 'COMPLETE').FnGetAtt('parts', 1, 'a') and Dynamic.asked == 1


def test_which_attributes_a_template_reads():
    bench = Bench('Acme::Lamp')
    bench.stack._references = {'r': frozenset({('watts',), ('parts', 0)})}
    made = bench.create()
    assert made.referenced_attrs() == {'watts', ('parts', 0)}
    bench.stack._references = {'r': frozenset({()})}
    assert made.referenced_attrs() == {'watts', 'state', 'parts'}


# --- updates ---------------------------------------------------------------------------------------------

def test_update_in_place_replacement_and_refusal():
    bench = Bench('Acme::Lamp', {'watts': 5, 'shape': 'round'})
    bench.create()
    assert bench.update({'watts': 7, 'shape': 'round'}) == {'watts': 7}
    assert LAMPS['l1']['watts'] == 7
    assert bench.update({'shape': 'round'}) == {'watts': 5}
    with pytest.raises(exception.UpdateReplace, match=r'The Resource r requires replacement\.'):
        bench.update({'shape': 'round', 'street': 's'})
    with pytest.raises(exception.NotSupported) as error:
        bench.update({'shape': 'square', 'street': 's'})
    assert str(error.value) == 'Update to properties shape of r (Acme::Lamp) is not supported.'


def test_a_change_of_metadata_alone_is_an_update_without_properties():
    bench = Bench('Acme::Lamp', {}, metadata={'a': 1})
    bench.create()
    assert bench.update({}, metadata={'a': 2}) == {}


def test_failed_checked_and_deleted_resources_are_replaced():
    bench = Bench('Acme::Lamp')
    bench.create()
    same = bench.define({})
    for action, status in (('CREATE', 'FAILED'), ('CHECK', 'FAILED'), ('DELETE', 'COMPLETE'), ('INIT', 'COMPLETE')):
        old = bench.fresh(action, status)
        with pytest.raises(exception.UpdateReplace):
            old.needs_update(old.compare(same))


def test_an_import_that_was_interrupted_after_its_object_was_found_is_kept():
    """A replacement would delete an object to which nothing was done."""
    bench = Bench('Acme::Lamp', {'watts': 3})
    same = bench.define({'watts': 3})
    without = bench.fresh('ADOPT', 'FAILED')
    with pytest.raises(exception.UpdateReplace):
        without.needs_update(without.compare(same))
    bench.fresh('ADOPT').resource_id_set('l1')
    found = bench.fresh('ADOPT', 'FAILED')
    assert found.resource_id == 'l1' and not found.needs_update(found.compare(same))


def test_the_description_of_the_resource_fills_the_property():
    bench = Bench('Acme::Lamp', {}, description='By the door.')
    bench.validate()
    assert bench.fresh('CREATE').properties['description'] == 'By the door.'
    own = Bench('Acme::Lamp', {'description': 'mine'}, description='By the door.')
    assert own.fresh('CREATE').properties['description'] == 'mine'


def test_names_are_translated_only_when_values_are_real():
    bench = Bench('Acme::Lamp', {'street': 'north'})        # 'no...' cannot be found
    bench.validate()
    with pytest.raises(NoLamp):
        assert bench.fresh('CREATE').properties['street']
    known = Bench('Acme::Lamp', {'street': 'main'})
    made = known.create()
    assert made.properties['street'] == 'id-of-main'
    assert known.record.properties == {'street': 'main'}
    assert known.update({'street': 'main'}) is None


def test_an_old_name_that_is_gone_does_not_stop_an_update():
    bench = Bench('Acme::Lamp', {'street': 'main'})
    bench.create()
    bench.record.properties = {'street': 'nowhere'}
    with pytest.raises(exception.UpdateReplace):
        bench.update({'street': 'main'})


def test_values_that_are_not_known_yet_count_as_changed_and_are_not_checked():
    bench = Bench('Acme::Lamp', {'watts': 5})
    old = bench.create()
    comparison = old.compare(bench.define({'watts': UNKNOWN}))
    assert old.needs_update(comparison)
    assert old.changes(comparison)[1] == {'watts': UNKNOWN}
    Bench('Acme::Lamp', {'watts': UNKNOWN}).validate()


def test_drift_is_seen_only_where_it_can_be_corrected():
    bench = Bench('Acme::Lamp', {'watts': 5})
    old = bench.create()
    LAMPS['l1'].update(watts=11, colour='blue', name='drifted')
    comparison = old.observe(old.compare(bench.define({'watts': 5})))
    assert old.needs_update(comparison)
    assert old.changes(comparison)[1] == {'watts': 5}
    del LAMPS['l1']
    with pytest.raises(exception.EntityNotFound):
        old.observe(old.compare(bench.define({'watts': 5})))


def test_stored_values_that_no_longer_fit_the_schema_count_as_changed():
    bench = Bench('Acme::Lamp', {'watts': 5})
    bench.create()
    bench.record.properties = {'watts': 'many', 'gone': 1}
    assert bench.update({'watts': 5}) == {'watts': 5}


# --- deletion and things that exist already ----------------------------------------------------------------

@pytest.mark.parametrize('policy, is_called', [('Delete', True), ('delete', True), (None, True), ('Retain', False)])
def test_the_deletion_policy_decides(policy, is_called):
    bench = Bench('Acme::Lamp', {}, deletion_policy=policy)
    bench.create()
    bench.run('DELETE')
    assert ('l1' not in LAMPS) is is_called


def test_deleting_what_is_gone_or_never_was():
    bench = Bench('Acme::Lamp')
    bench.run('DELETE')
    assert DELETES == []
    bench.create()
    LAMPS.clear()
    bench.run('DELETE')
    assert DELETES == ['l1']


def test_a_snapshot_before_deletion():
    class Snapshotted(Lamp):
        def handle_snapshot_delete(self, state):
            self.data_set('state', str(state))

    with pytest.raises(exception.StackValidationFailed) as error:
        Bench('Acme::Lamp', {}, deletion_policy='Snapshot').validate()
    assert str(error.value) == 'resources.r.deletion_policy: "Snapshot" deletion policy not supported'
    with pytest.raises(exception.StackValidationFailed, match='Invalid deletion policy "RETAIN"'):
        Bench('Acme::Lamp', {}, deletion_policy='RETAIN').validate()
    from heatlite.engine.types import registry
    registry.current().register('Acme::Snapshotted', Snapshotted)
    bench = Bench('Acme::Snapshotted', {}, deletion_policy='Snapshot')
    bench.validate()
    bench.create()
    bench.run('DELETE')
    assert bench.record.data['state'] == "('CREATE', 'COMPLETE')" and 'l1' in LAMPS


def test_external_things_are_looked_up_and_never_deleted():
    bench = Bench('Acme::Lamp', {'watts': 3}, external_id='l9')
    with pytest.raises(exception.StackValidationFailed) as error:
        bench.validate()
    assert str(error.value) == 'Invalid external resource: Resource l9 (Acme::Lamp) can not be found.'
    LAMPS['l9'] = {}
    bench.validate()
    assert not bench.fresh('CREATE', 'COMPLETE').has_handler('DELETE')
    with pytest.raises(exception.NotSupported, match=r'Update to property external_id of r \(Acme::Lamp\) is not'):
        bench.fresh('CREATE', 'COMPLETE').check_external_id_kept(bench.define({}, external_id='l8'))


def test_adopting():
    bench = Bench('Acme::Lamp')
    with pytest.raises(Exception, match='Resource ID was not provided') as error:
        bench.fresh('ADOPT').handler('ADOPT')({})
    assert type(error.value) is Exception
    bench.run('ADOPT', {'resource_id': 'l7', 'resource_data': {'a': 'b'}, 'metadata': {'m': 1}})
    assert bench.memory.written == [('physical_id', 'l7'), ('data', 'a', 'b', False), ('metadata', {'m': 1})]
    assert bench.fresh('ADOPT', 'COMPLETE').prepare_abandon() == {
        'name': 'r', 'resource_id': 'l7', 'type': 'Acme::Lamp', 'action': 'ADOPT', 'status': 'COMPLETE',
        'metadata': {'m': 1}, 'resource_data': {'a': 'b'}}


# --- handlers --------------------------------------------------------------------------------------------

def test_without_a_handler_the_check_is_not_asked():
    class Odd(Lamp):
        def check_suspend_complete(self, token):
            raise AssertionError('nobody asked for it')

    from heatlite.engine.types import registry
    registry.current().register('Acme::Odd', Odd)
    bench = Bench('Acme::Odd')
    bench.run('SUSPEND')
    found = bench.fresh('SUSPEND')
    assert not found.has_handler('SUSPEND') and found.checker('SUSPEND') is None
    assert not found.has_handler('CHECK') and not found.has_handler('SNAPSHOT')


def test_the_grace_period_ends_where_a_type_can_cancel():
    bench = Bench('Acme::Lamp')
    assert bench.fresh('CREATE').cancel_grace_period() == 240
    assert bench.fresh('CREATE', 'COMPLETE').cancel_grace_period() is None
    Lamp.handle_create_cancel = lambda self, token: None
    try:
        assert bench.fresh('CREATE').cancel_grace_period() is None
    finally:
        del Lamp.handle_create_cancel


class Hinting(Lamp):
    """Changes its own properties, as plug-ins that pass hints do."""

    properties_schema = {**Lamp.properties_schema, 'hints': S(S.MAP)}
    seen = []

    def handle_create(self):
        if self.properties['hints'] is None:
            self.properties.data['hints'] = {}
        self.properties.data['hints']['near'] = ['a']
        self.seen[:] = [self.properties['hints'], dict(self.properties)['hints']]
        self.properties.data['hints']['near'].append('b')
        self.seen.append(self.properties['hints'])
        super().handle_create()


@pytest.mark.parametrize('given, expected', [({}, {}), ({'hints': {'far': 'c'}}, {'far': 'c'})])
def test_a_type_reads_what_it_changed_in_the_data_of_its_properties(types, given, expected):
    types.register('Acme::Hinting', Hinting)
    bench = Bench('Acme::Hinting', {**given, 'street': 'x'})
    bench.create()
    assert Hinting.seen == [{**expected, 'near': ['a']}] * 2 + [{**expected, 'near': ['a', 'b']}]
    assert bench.update({**given, 'street': 'x'}) is None              # the definition did not change


def test_unchanged_data_are_looked_up_once(monkeypatch):
    found = []
    monkeypatch.setattr(LanternPlugin, 'find', lambda self, name: found.append(name) or f'id-of-{name}')
    made = Bench('Acme::Lamp', {'street': 'x'}).create()
    data = made.properties.data
    assert [made.properties['street'] for _each in range(3)] == ['id-of-x'] * 3 and found == ['x']
    data['street'] = 'y'
    assert [made.properties['street'] for _each in range(3)] == ['id-of-y'] * 3 and found == ['x', 'y']
    made.properties.data = {'street': 'z'}
    assert made.properties['street'] == 'id-of-z'


# --- what is kept ----------------------------------------------------------------------------------------

def test_metadata_before_and_after_creation():
    bench = Bench('Acme::Lamp', {}, metadata={'from': 'template'})
    young = bench.fresh('INIT', 'COMPLETE')
    assert young.metadata_get() == {'from': 'template'}
    for action in ('INIT', 'DELETE'):
        with pytest.raises(exception.ResourceNotAvailable):
            bench.fresh(action).metadata_set({})
    made = bench.fresh('CREATE', 'COMPLETE')
    made.metadata_set({'a': 1})
    made.metadata_set({'b': 2}, lambda new, current: {**current, **new})
    assert bench.fresh('CREATE', 'COMPLETE').metadata_get() == {'a': 1, 'b': 2}
    assert bench.memory.written == [('metadata', {'a': 1}), ('metadata', {'a': 1, 'b': 2})]


def test_data():
    bench = Bench('Acme::Lamp')
    made = bench.fresh('CREATE')
    made.data_set('k', 'v', redact=True)
    copy = made.data()
    copy['k'] = 'changed'
    assert bench.fresh('CREATE').data() == {'k': 'v'}
    assert made.data_delete('k') is True and made.data_delete('k') is False
    made.store_data()
    assert bench.memory.written == [('data', 'k', 'v', True), ('data', 'k', None, False), ('store_data',)]


def test_states_and_their_events():
    bench = Bench('Acme::Lamp')
    made = bench.fresh('CREATE')
    made.state_set('CREATE', 'IN_PROGRESS', 'again')
    made.state_set('CREATE', 'COMPLETE')
    assert bench.memory.written == [('state', 'CREATE', 'IN_PROGRESS', 'again'),
                                 ('state', 'CREATE', 'COMPLETE', 'state changed'),
                                 ('event', 'CREATE', 'COMPLETE', 'state changed')]
    with pytest.raises(ValueError, match='Invalid action FLY'):
        made.state_set('FLY', 'COMPLETE')


@pytest.mark.parametrize('details, text', [
    (None, 'No signal details provided'), ('hello', 'hello'), ({'a': 1}, 'Unknown'),
    ({'previous': 'ok', 'current': 'alarm', 'reason': 'hot'}, 'alarm state changed from ok to alarm (hot)'),
])
def test_the_text_of_a_signal(details, text):
    from heatlite.engine.resource_keeping import signal_text
    assert signal_text(details) == text


def test_a_type_that_takes_no_signals():
    with pytest.raises(exception.ResourceActionNotSupported, match='signal is not supported for resource'):
        Bench('Acme::Lamp').create().signal('x')


def test_validation_and_preview_write_nothing():
    bench = Bench('Acme::Lamp', {'watts': 1})
    loose = bench.kind()('r', bench.definition, bench.stack)
    loose.resource_id_set('x')
    loose.data_set('a', 'b')
    assert bench.memory.written == [] and loose.resource_id == 'x' and loose.data() == {'a': 'b'}
    assert loose.preview() is loose


def test_check_conditions():
    made = Bench('Acme::Lamp').create()
    made._verify_check_conditions([{'attr': 'a', 'expected': 1, 'current': 1}])
    with pytest.raises(exception.Error) as error:
        made._verify_check_conditions([{'attr': 'a', 'expected': 1, 'current': 2},
                                       {'attr': 'b', 'expected': ['x', 'y'], 'current': 'z'}])
    assert str(error.value) == "'a': expected '1', got '2'; 'b': expected '['x', 'y']', got 'z'"


# --- definitions -----------------------------------------------------------------------------------------

def test_definitions_compare_by_content():
    one = rsrc_defn.ResourceDefinition('a', 'T', {'p': 1}, metadata={'m': 1})
    assert one == rsrc_defn.ResourceDefinition('b', 'T', {'p': 1}, metadata={'m': 1}, deletion_policy=None)
    other = one.freeze(properties={'p': 2})
    diff = other - one
    assert (diff.properties_changed(), diff.metadata_changed(), diff.update_policy_changed(), bool(diff)) == (
        True, False, False, True)
    assert not (one - one) and 'Properties' in diff and 'Metadata' not in diff
    assert other.render_hot() == {'type': 'T', 'properties': {'p': 2}, 'metadata': {'m': 1}}


def test_differences_read_like_mappings_of_the_new_sections():
    one = rsrc_defn.ResourceDefinition('a', 'T', {'p': 1}, metadata={'m': 1})
    diff = one.freeze(properties={'p': 2, 'q': 3}, metadata=None) - one
    assert diff['Properties'] == diff.get('Properties') == {'p': 2, 'q': 3}
    assert diff['Metadata'] is None and list(diff) == ['Properties', 'Metadata'] and len(diff) == 2
    assert dict((one.freeze(properties={}) - one).items()) == {'Properties': {}}
    assert not (one - one) and dict(one - one) == {}
    with pytest.raises(KeyError):
        diff['UpdatePolicy']
    assert repr(diff) == '<ResourceDefinitionDiff Properties, Metadata>'


def test_definitions_read_like_mappings():
    found = rsrc_defn.ResourceDefinition('a', 'T', {'p': 1}, depends=['b'])
    assert dict(found) == {'Type': 'T', 'Properties': {'p': 1}, 'DependsOn': ['b']}
    assert found.get('Metadata') is None and found.get('Metadata', {}) == {}
    assert rsrc_defn.ResourceDefinition('a', 'T')['Properties'] == {}


def test_definitions_are_stored_without_properties_and_come_back():
    found = rsrc_defn.ResourceDefinition('a', 'T', {'p': 1}, {'m': 1}, ['b'], 'Retain', {'u': 1}, external_id='x')
    stored = found.to_stored()
    assert 'properties' not in stored
    assert rsrc_defn.ResourceDefinition.from_stored('a', stored, {'p': 1}) == found


def test_functions_of_plugins_in_a_definition():
    from heatlite.engine import function

    class Upper(function.Function):
        def result(self):
            return function.resolve(self.args).upper()

        def dep_attrs(self, resource_name):
            return iter(['colour'] if resource_name == 'lamp' else [])

    class Absent(function.Function):
        def result(self):
            return Ellipsis

    found = rsrc_defn.ResourceDefinition('a', 'T', {'p': Upper(None, 'upper', 'x'), 'q': [Absent(None, 'no', None), 1]})
    assert found.freeze()['Properties'] == {'p': 'X', 'q': [1]}
    assert found.properties({'p': S(S.STRING), 'q': S(S.LIST)})['p'] == 'X'
    assert found.dep_attrs('lamp') == {'colour'} and found.dep_attrs('other') == set()


def test_the_worlds_are_what_the_engine_hands_out():
    bench = Bench('Acme::Lamp')
    assert bench.fresh('CREATE').runtime is bench.runtime and not isinstance(bench.runtime, GreenRuntime)


@pytest.mark.parametrize('kind, default, value', [
    (S.LIST, '', []), (S.MAP, '', {}), (S.MAP, [], {}), (S.BOOLEAN, '', False), (S.INTEGER, '', 0), (S.STRING, [], ''),
    (S.ANY, '', ''), (S.ANY, 0, 0), (S.LIST, ['a'], ['a'])])
def test_an_empty_default_is_the_empty_value_of_the_type(types, kind, default, value):
    """Plug-ins for containers give '' as the default of a list."""
    class Container(resource.Resource):
        properties_schema = {'volumes': S(kind, default=default)}

    types.register('Acme::Container', Container)
    bench = Bench('Acme::Container')
    assert bench.validate() is None
    assert bench.create().properties['volumes'] == value


def test_stored_values_under_the_name_of_2015(types):
    class Project(resource.Resource):
        properties_schema = {'name': S(S.STRING), 'groups': S(S.LIST)}

    types.register('Acme::Project', Project)
    made = Bench('Acme::Project', {'name': 'a'}).create()
    assert made._stored_properties_data == {'name': 'a', 'groups': None}
