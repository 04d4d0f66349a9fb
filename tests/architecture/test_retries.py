"""A transaction that meets another one is made again: Galera aborts one of two that write the same row on two nodes."""

import ast
from pathlib import Path

import pytest

import heatlite

ROOT = Path(heatlite.__file__).parent
# Loops that make the transaction again by themselves, and heatlite-manage, which works alone.
LOOPS = {'engine/durability/journal.py', 'engine/durability/lease_manager.py', 'db/sync.py'}


def writers(file):
    """The lines with `....writer()`, whose transaction is made once."""
    return [node.lineno for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == 'writer']


@pytest.mark.parametrize('folder', ['api', 'cmd', 'db', 'engine'])
def test_transactions_are_made_again_after_a_conflict(folder):
    once = {file.relative_to(ROOT).as_posix(): lines for file in (ROOT / folder).rglob('*.py')
            if file.name != 'connection.py' and (lines := writers(file))}
    assert set(once) <= LOOPS, f'use Database.retry: {once}'
