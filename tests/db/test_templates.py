import contextlib
import threading
from datetime import timedelta

import pytest
import sqlalchemy as sa

from heatlite.common.template_files import Files
from heatlite.db import resources, stacks, tables, templates
from tests.db.rows import NOW, stack, state, template_ids

DOCUMENT = {'heat_template_version': '2018-08-31', 'resources': {'a': {'type': 'OS::Heat::None'}}}


def test_a_template_comes_back_as_it_was(db, counted):
    with db.writer() as tx:
        assert templates.insert(tx, 't1', DOCUMENT, {'parameters': {'é': '☃'}}, {'f.yaml': 'a: 1\n'}, NOW) == 't1'
        templates.insert(tx, 't2', DOCUMENT, {}, None, NOW)
    with db.reader() as tx, counted(tx) as statements:
        whole, brief = templates.get(tx, 't1'), templates.show(tx, 't1')
        assert len(statements) == 3             # row and files, row
        assert (whole.document, whole.environment, whole.files) == (
            DOCUMENT, {'parameters': {'é': '☃'}}, {'f.yaml': 'a: 1\n'})
        assert (brief.document, brief.files) == (DOCUMENT, {})
        assert list(whole.document) == list(DOCUMENT)
        assert templates.files(tx, 't1') == {'f.yaml': 'a: 1\n'}
        assert templates.files(tx, 't2') == templates.get(tx, 't2').files == {}
        assert template_ids(tx) == {'t1', 't2'}
        for look in (templates.get, templates.show):
            with pytest.raises(LookupError, match='t9'):
                look(tx, 't9')


def test_a_large_template(db):
    document = {'resources': {f'r{number}': {'properties': {'text': 'x' * 1000}} for number in range(1000)}}
    with db.writer() as tx:
        templates.insert(tx, 't1', document, {}, {'f': 'y' * 1_000_000}, NOW)
    with db.reader() as tx:
        found = templates.get(tx, 't1')
    assert (found.document, len(found.files['f'])) == (document, 1_000_000)


def stored_files(db):
    with db.reader() as tx:
        return list(tx.execute(sa.select(tables.files.c.id).order_by(tables.files.c.id)).scalars())


def test_files_go_with_the_last_template_that_shares_them(db):
    files = Files({'f': 'x'})
    with db.writer() as tx:
        templates.insert(tx, 't1', DOCUMENT, {}, files, NOW)
        templates.insert(tx, 't2', DOCUMENT, {}, files, NOW)
    assert stored_files(db) == ['t1']
    with db.writer() as tx:
        assert templates.remove(tx, ['t1']) == 1
        assert templates.files(tx, 't2') == {'f': 'x'}
    assert stored_files(db) == ['t1']
    with db.writer() as tx:
        assert templates.remove(tx, ['t2', 't3']) == 1
        assert templates.remove(tx, []) == 0
    assert stored_files(db) == []


def test_files_whose_row_is_gone_get_another(db):
    files = Files({'f': 'x'})
    with db.writer() as tx:
        templates.insert(tx, 't1', DOCUMENT, {}, files, NOW)
        templates.remove(tx, ['t1'])
    with db.writer() as tx:
        templates.insert(tx, 't2', DOCUMENT, {}, files, NOW)
    assert stored_files(db) == ['t2']
    with db.reader() as tx:
        assert templates.get(tx, 't2').files == {'f': 'x'}


def test_a_transaction_that_is_tried_again_stores_its_files_again(db):
    files = Files({'f': 'x'})
    for fails in (True, False):
        with contextlib.suppress(ZeroDivisionError), db.writer() as tx:
            templates.insert(tx, 't1', DOCUMENT, {}, files, NOW)
            assert 1 / (not fails)
    assert stored_files(db) == ['t1']


def test_files_are_one_object_for_all_who_read_them(db):
    files = Files({'f': 'x'})
    with db.writer() as tx:
        templates.insert(tx, 't1', DOCUMENT, {}, files, NOW)
        templates.insert(tx, 't2', DOCUMENT, {}, files, NOW)
    with db.reader() as tx:
        assert templates.get(tx, 't1').files is templates.get(tx, 't2').files
    with db.writer() as tx:
        assert templates.get(tx, 't1').files.id == 't1'


def test_files_stay_for_a_template_that_is_stored_while_the_last_other_one_goes(db):
    files = Files({'f': 'x'})
    with db.writer() as tx:
        templates.insert(tx, 't1', DOCUMENT, {}, files, NOW)

    remover = threading.Thread(target=lambda: db.retry(lambda tx: templates.remove(tx, ['t1'])))

    def store(tx):
        templates.insert(tx, 't2', DOCUMENT, {}, files, NOW)
        if remover.ident is None:
            remover.start()
            remover.join(0.3)                   # by then it waits for us, or, on another node, makes us try again

    db.retry(store)
    remover.join()
    assert len(stored_files(db)) == 1
    with db.reader() as tx:
        assert templates.files(tx, 't2') == {'f': 'x'}


def test_templates_nobody_needs_any_more(db):
    with db.writer() as tx:
        for number in range(1, 6):
            templates.insert(tx, f't{number}', DOCUMENT, {}, {'f': str(number)}, NOW, stack_id='s1')
        templates.insert(tx, 'other', DOCUMENT, {}, None, NOW, stack_id='s2')
        stacks.insert(tx, stack(template_id='t5', previous_template_id='t4'))
        resources.insert_many(tx, 's1', [state(1, template_id='t2'), state(2)])
        assert templates.prune(tx, 's1', keep=2) == 0
        assert templates.prune(tx, 's1') == 2
        assert template_ids(tx) == {'t2', 't4', 't5', 'other'}
        assert templates.files(tx, 't2') == {'f': '2'}


def test_the_newest_ones_may_stay(db):
    with db.writer() as tx:
        for number in range(1, 6):
            templates.insert(tx, f't{number}', DOCUMENT, {}, None, NOW + timedelta(seconds=number), stack_id='s1')
        stacks.insert(tx, stack(template_id='t2', previous_template_id=None))
        assert templates.prune(tx, 's1', keep=2) == 2
        assert template_ids(tx) == {'t2', 't4', 't5'}
