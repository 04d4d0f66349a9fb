"""heatlite-manage with several cells, and the options that name them."""

from datetime import datetime

import pytest

from heatlite.cmd import manage
from heatlite.db import project_cells, sync
from heatlite.db.connection import Database
from heatlite.db.project_cells import ProjectPlace

KEY = '0123456789abcdef0123456789abcdef'


@pytest.fixture
def urls(tmp_path):
    return {name: f'sqlite:///{tmp_path}/{name}.sqlite' for name in ('home', 'east')}


def run(tmp_path, urls, *arguments, names='east', cell='cell_east'):
    file = tmp_path / 'heatlite.conf'
    file.write_text(f'[DEFAULT]\nauth_encryption_key = {KEY}\n[database]\nconnection = {urls["home"]}\n'
                    f'[cells]\nnames = {names}\n[{cell}]\nconnection = {urls["east"]}\n')
    return manage.main(['--config-file', str(file), *arguments])


def test_db_sync_makes_the_tables_of_all_cells(tmp_path, urls, capsys):
    assert run(tmp_path, urls, 'db_sync') == 0
    for url in urls.values():
        assert sync.version(Database(url)) == sync.HEAD
    assert capsys.readouterr().out.splitlines() == [
        f'Cell {name}: the tables have version {sync.HEAD}.' for name in ('home', 'east')]
    assert run(tmp_path, urls, 'cells', 'list') == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ['Cell', 'home', 'east']


def test_show_says_where_a_project_is(tmp_path, urls, capsys):
    run(tmp_path, urls, 'db_sync')
    run(tmp_path, urls, 'cells', 'show', 'p1')
    assert 'home  never moved' in capsys.readouterr().out
    database = Database(urls['home'])
    with database.writer() as tx:
        project_cells.put(tx, 'p1', ProjectPlace('home', 'east'), datetime(2026, 11, 27))
    run(tmp_path, urls, 'cells', 'show', 'p1')
    assert 'is being moved to east' in capsys.readouterr().out
    database.close()


def test_show_lists_all_projects_of_the_map(tmp_path, urls, capsys):
    run(tmp_path, urls, 'db_sync')
    database = Database(urls['home'])
    with database.writer() as tx:
        project_cells.put(tx, 'p2', ProjectPlace('east'), datetime(2026, 11, 27))
        project_cells.put(tx, 'p1', ProjectPlace('home', leaving='east'), datetime(2026, 11, 28))
    database.close()
    capsys.readouterr()
    assert run(tmp_path, urls, 'cells', 'show') == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [['Project', 'Cell'], ['p1', 'home'], ['p2', 'east']]
    assert lines[2][-2:] == ['2026-11-27', '00:00:00']


def test_a_move_to_where_the_project_is_says_so(tmp_path, urls, capsys):
    run(tmp_path, urls, 'db_sync')
    assert run(tmp_path, urls, 'cells', 'move', 'p1', 'home') == 0
    assert 'is in cell "home"' in capsys.readouterr().out


@pytest.mark.parametrize(('options', 'words'), [
    ({'names': 'home'}, '[cells] names: "home"'), ({'names': 'east, east'}, '"east"'),
    ({'names': 'East'}, '[cells] names: "East"'), ({'cell': 'cell_west'}, '[cell_east] connection is not set')])
def test_a_wrong_option_is_named(tmp_path, urls, capsys, options, words):
    assert run(tmp_path, urls, 'cells', 'list', **options) == 1
    assert words in capsys.readouterr().err


def test_an_unknown_cell_is_named_with_those_there_are(tmp_path, urls, capsys):
    run(tmp_path, urls, 'db_sync')
    assert run(tmp_path, urls, 'cells', 'move', 'p1', 'north') == 1
    assert 'there are: home, east' in capsys.readouterr().err
