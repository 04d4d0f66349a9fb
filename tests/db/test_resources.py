import pytest
from oslo_config import cfg

from heatlite.common import crypt, turns
from heatlite.db import resource_data, resources, tables
from heatlite.planning.states import Action, Status
from tests.db.rows import NOW, delete_soft, later, state

KEY = 'k' * 32


def test_what_drives_a_stack_is_light(tree, counted):
    with tree.reader() as tx, counted(tx) as statements:
        rows = resources.light(tx, 'root')
    assert len(statements) == 1
    assert 'properties' not in statements[0]
    assert rows[0] == state(1, 'server', action=Action.CREATE, status=Status.IN_PROGRESS, physical_id='ph1',
                            replaced_by=3)
    assert rows[2] == state(3, 'server', action=Action.CREATE, requires={'net_1': 5}, replaces=1, handle={'a': [1]})
    assert isinstance(rows[0].action, Action)
    assert isinstance(rows[0].status, Status)
    with tree.reader() as tx:
        assert resources.light(tx, 'nobody') == []


def test_heavy_columns_by_number(tree):
    with tree.reader() as tx:
        assert resources.columns(tx, 'root', [1, 9], ('properties', 'metadata')) == {
            1: {'properties': {'flavor': 'm1'}, 'metadata': {'m': 1}}}
        assert resources.columns(tx, 'root', None, ('attributes',)) == {2: {'attributes': {'refs': ['x']}}}
        assert resources.columns(tx, 'root', [1], ('attributes',)) == {1: {'attributes': None}}
        assert resources.columns(tx, 'root', [], ('attributes',)) == {}


def test_counts(tree):
    with tree.writer() as tx:
        assert resources.count(tx, ['root', 'child', 'other']) == 5
        assert resources.count_in_tree(tx, 'root') == 4
        delete_soft(tx, 'child', later(1))
        assert resources.count_in_tree(tx, 'root') == 3


def test_metadata_is_compared_and_swapped(tree):
    with tree.writer() as tx:
        value, version = resources.metadata(tx, 'root', 1)
        assert (value, version) == ({'m': 1}, 0)
        assert resources.set_metadata(tx, 'root', 1, {'m': 2}, version)
        assert not resources.set_metadata(tx, 'root', 1, {'m': 3}, version)
        assert resources.metadata(tx, 'root', 1) == ({'m': 2}, 1)
        with pytest.raises(LookupError):
            resources.metadata(tx, 'root', 99)


@pytest.mark.parametrize('part, number', [(1000, 3), (1250, 3), (2501, 1)])
def test_rows_in_parts(db, counted, part, number):
    rows = [state(number) for number in range(2500)]
    with db.writer() as tx:
        resources.insert_many(tx, 'big', rows)
        resources.insert_many(tx, 'other', rows[:10])
    with db.reader() as tx, counted(tx) as statements:
        assert resources.light_in_parts(tx, 'big', part) == rows
        assert len(statements) == number
        assert resources.light_in_parts(tx, 'unknown', part) == []


def test_many_rows_at_once(db):
    rows = [state(number) for number in range(2500)]
    with db.writer() as tx:
        resources.insert_many(tx, 'big', rows)
    with db.reader() as tx:
        assert resources.light(tx, 'big') == rows
        assert len(resources.columns(tx, 'big', range(1200), ('properties',))) == 1200


@pytest.fixture
def key():
    cfg.CONF.register_opts([cfg.StrOpt('auth_encryption_key')]) if 'auth_encryption_key' not in cfg.CONF else None
    cfg.CONF.set_override('auth_encryption_key', KEY)
    yield
    cfg.CONF.clear_override('auth_encryption_key')


@pytest.mark.usefixtures('key')
def test_others_run_while_many_rows_are_read(db):
    number = 1000
    with db.writer() as tx:
        tx.execute(tables.resource.insert(), [
            {'stack_id': 'many', 'id': each, 'name': f'r{each}', 'uuid': f'uuid-{each}', 'type': 'OS::Heat::None',
             'action': 'CREATE', 'status': 'COMPLETE', 'reason': '', 'requires': '{}', 'fingerprint': '',
             'created_at': NOW, 'attributes': '{"value": "x"}'} for each in range(1, number + 1)])
        tx.execute(tables.resource_data.insert(), [
            {'stack_id': 'many', 'resource_id': each, 'key': 'k', 'value': value, 'method': method}
            for each in range(1, number + 1) for method, value in [crypt.encrypt(f'secret {each}', KEY)]])
    for read, least in ((resources.light, 2), (resources.cached_values, 10), (resource_data.secrets, 10)):
        taken = []
        turns.use(lambda *_owners, taken=taken: taken.append(True))
        try:
            with db.reader() as tx:
                assert len(read(tx, 'many')) == number
        finally:
            turns.use(None)
        assert len(taken) >= least, read
