import pytest

from heatlite.common import exception
from heatlite.db import leases, stack_lists, stack_trees, stacks, tables
from heatlite.planning.states import Action
from tests.db.rows import NOW, Wanted, delete_soft, ids, later, leased, stack


def test_a_row_comes_back_as_it_was(db):
    row = stack(tags=['b', 'a'], parameters={'n': '1', 'é': '☃'}, outputs=[{'output_key': 'x', 'output_value': [1]}],
                request={'adopt': {}}, timeout_mins=5, converge=True, description='ünïcode 🎈', user_project_id='up')
    with db.writer() as tx:
        stacks.insert(tx, row)
    with db.reader() as tx:
        assert stacks.get(tx, 's1') == row
        assert stacks.show(tx, 's1') == row


def test_a_text_no_database_would_take_is_cleaned(db):
    with db.writer() as tx:
        stacks.insert(tx, stack(reason='a\0b\ud800', description='c\0', parameters={'x': 'a\0b\ud800'}))
    with db.reader() as tx:
        row = stacks.get(tx, 's1')
    assert (row.reason, row.description) == ('a\ufffdb?', 'c\ufffd')
    assert row.parameters == {'x': 'a\0b\ud800'}


def test_one_select_shows_a_stack(db, counted):
    with db.writer() as tx:
        stacks.insert(tx, stack())
    with db.reader() as tx, counted(tx) as statements:
        stacks.show(tx, 's1')
        assert len(statements) == 1
        stacks.identity(tx, 's1')
        assert len(statements) == 2
        stack_lists.page(tx, 'p1', Wanted())
        assert len(statements) == 3
        stack_lists.page(tx, 'p1', Wanted(marker='s1'))
        assert len(statements) == 5
        stack_lists.count(tx, 'p1', Wanted())
        stacks.by_name(tx, 'p1', 'x')
        stack_trees.children(tx, ['s1', 's2', 's3'])
        stack_trees.descendants(tx, 's1', 's1', 3)
        stack_trees.tree(tx, 's1')
        stack_trees.child(tx, 's1', 'r1')
        assert len(statements) == 11


def test_a_name_is_taken_once_in_a_project_and_free_after_deletion(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', 'web'))
        stacks.insert(tx, stack('s2', 'Web'))               # names differ by case
        stacks.insert(tx, stack('s3', 'web', project_id='p2'))
    with pytest.raises(exception.StackExists, match='web'), db.writer() as tx:
        stacks.insert(tx, stack('s4', 'web'))
    with db.writer() as tx:
        delete_soft(tx, 's1', later(1))
        stacks.insert(tx, stack('s4', 'web'))
        assert stacks.by_name(tx, 'p1', 'web').id == 's4'
        assert stacks.get(tx, 's1') is None
        assert stacks.get(tx, 's1', deleted=True).deleted_at == later(1)


def test_nothing_leaves_its_project(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', 'web', user_project_id='up1'))
        stacks.insert(tx, stack('s2', 'db', project_id='p2'))
        assert stacks.get(tx, 's1', 'p2') is None
        assert stacks.get(tx, 's1', 'p1').id == stacks.get(tx, 's1', 'up1').id == 's1'
        assert stacks.by_name(tx, 'p2', 'web') is None
        assert stacks.by_name(tx, 'p1', 'web').id == stacks.by_name(tx, 'up1', 'web').id == 's1'
        assert stacks.by_name(tx, None, 'web') is None
        assert ids(stack_lists.page(tx, 'p1', Wanted())) == ['s1']
        assert ids(stack_lists.page(tx, 'p2', Wanted())) == ['s2']
        assert ids(stack_lists.page(tx, 'p1', Wanted(filters={'project_id': ('p2',)}))) == []
        assert ids(stack_lists.page(tx, 'p2', Wanted(marker='s1'))) == ['s2']      # another project's marker is unknown
        assert stack_lists.count(tx, 'p1', Wanted()) == stack_lists.count_live_roots(tx, 'p2') == 1
        assert ids(stack_lists.page(tx, None, Wanted())) == ['s2', 's1']


def test_a_new_request(db):
    with db.writer() as tx:
        leased(tx, stack(tags=['a', 'b', 'b '], template_id='t1'))
        leases.release(tx, 's1', 'e1', 1)
    with db.writer() as tx:
        accepted = stacks.accept(tx, 's1', action='UPDATE', reason='Stack UPDATE started', now=later(9),
                                 template_id='t2', previous_template_id='t1', tags=['b', 'c'], request={'x': 1})
    with db.writer() as tx:
        row = stacks.get(tx, 's1')
        assert row == accepted
        assert (row.generation, row.action, row.status, row.template_id, row.previous_template_id) == (
            2, 'UPDATE', 'IN_PROGRESS', 't2', 't1')
        assert row.updated_at == row.started_at == later(9)
        assert row.disable_rollback is True
        assert ids(stack_lists.page(tx, 'p1', Wanted(tags=('c',)))) == ['s1']
        assert ids(stack_lists.page(tx, 'p1', Wanted(tags=('a',)))) == []
        assert [each.stack_id for each in leases.claim_expired(tx, 'e2', 5)] == ['s1']      # it is wanted again
        assert stacks.accept(tx, 's1', action='UPDATE', reason='', now=later(10), tags=None).tags is None
        assert ids(stack_lists.page(tx, 'p1', Wanted(tags_any=('b', 'c')))) == []


def test_a_request_to_a_stack_that_is_gone(db):
    with db.writer() as tx:
        stacks.insert(tx, stack())
        delete_soft(tx, 's1', later(1))
        for stack_id in ('s1', 'nobody'):
            with pytest.raises(exception.StackNotFound):
                stacks.accept(tx, stack_id, action='UPDATE', reason='', now=later(2))


def test_a_request_changes_only_what_requests_may(db):
    with db.writer() as tx, pytest.raises(TypeError, match='project_id'):
        stacks.accept(tx, 's1', action='UPDATE', reason='', now=later(2), project_id='p2')


def test_the_next_number_of_resources_never_falls(db):
    with db.writer() as tx:
        stacks.insert(tx, stack(next_resource=6))
        stacks.set_next_resource(tx, 's1', 3)
        assert stacks.get(tx, 's1').next_resource == 6
        stacks.set_next_resource(tx, 's1', 100)
        assert stacks.get(tx, 's1').next_resource == 100


def test_the_project_of_users(db):
    with db.writer() as tx:
        stacks.insert(tx, stack())
        stacks.set_user_project(tx, 's1', 'up')
        assert stacks.get(tx, 's1').user_project_id == stacks.user_project(tx, 's1') == 'up'


def test_what_an_action_needs_besides_the_definition(db):
    with db.writer() as tx:
        stacks.insert(tx, stack(request={'a': 1, 'b': 2}))
        stacks.set_request(tx, 's1', {'b': 2})
        assert stacks.get(tx, 's1').request == {'b': 2}


def test_what_a_newer_release_has_stored_can_be_read_and_deleted(db):
    with db.writer() as tx:
        leased(tx, stack())
        tx.execute(tables.stack.update().values(action='FREEZE', status='FROZEN'))
    with db.writer() as tx:
        row = stacks.get(tx, 's1', for_update=True)
        assert (row.action, row.status) == ('FREEZE', 'FROZEN')
        stacks.accept(tx, 's1', action=Action.DELETE, reason='', now=NOW)
        assert stacks.get(tx, 's1').action is Action.DELETE
