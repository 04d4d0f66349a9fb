"""Operations are repeated by heatlite.common.retries. A transaction that meets another one is made again: Galera aborts
one of two that write the same row on two nodes.
"""

import ast
from pathlib import Path

import pytest

import heatlite

ROOT = Path(heatlite.__file__).parent
# Loops that make the transaction again by themselves, and heatlite-manage, which works alone.
LOOPS = {'engine/durability/journal.py', 'engine/durability/lease_manager.py', 'db/sync.py'}
# Loops of threads that go on for ever, whether their work fails or not.
ENDLESS = {'engine/durability/lease_manager.py': {'_heartbeat', '_sweep'},
           'common/http_server.py': {'_accept'}}
# Commands of clients import nothing of the service.
CLIENTS = {'osc/plans.py': {'get'}}


def writers(file):
    """The lines with `....writer()`, whose transaction is made once."""
    return [node.lineno for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == 'writer']


@pytest.mark.parametrize('folder', ['api', 'cmd', 'db', 'engine'])
def test_transactions_are_made_again_after_a_conflict(folder):
    once = {file.relative_to(ROOT).as_posix(): lines for file in (ROOT / folder).rglob('*.py')
            if file.name != 'connection.py' and (lines := writers(file))}
    assert set(once) <= LOOPS, f'use Database.retry: {once}'


def of_this_function(node):
    """The nodes below `node`, without those of functions in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child
            yield from of_this_function(child)


def repeating(tree):
    """Names of functions with a loop in which something is tried and a pause follows."""
    found = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for loop in of_this_function(function):
                if isinstance(loop, ast.For | ast.While):
                    inside = list(of_this_function(loop))
                    if (any(isinstance(node, ast.Try) and node.handlers for node in inside)
                            and any(isinstance(node, ast.Call) and getattr(node.func, 'attr', '').endswith('sleep')
                                    for node in inside)):
                        found.add(function.name)
    return found


@pytest.mark.parametrize('text, names', [
    ('def f(x):\n while True:\n  try:\n   return x()\n  except E:\n   self._sleep(1)', {'f'}),
    ('def f(x):\n for n in range(3):\n  try:\n   return x()\n  except E:\n   pass\n  time.sleep(n)', {'f'}),
    ('def f(x):\n while not x():\n  time.sleep(1)', set()),
    ('def f(x):\n for n in x:\n  try:\n   n()\n  except E:\n   pass', set()),
])
def test_loops_are_found(text, names):
    assert repeating(ast.parse(text)) == names


def test_operations_are_repeated_by_retries_alone():
    found = {file.relative_to(ROOT).as_posix(): names for file in ROOT.rglob('*.py')
             if (names := repeating(ast.parse(file.read_text())))}
    assert found == ENDLESS | CLIENTS, 'use heatlite.common.retries'
