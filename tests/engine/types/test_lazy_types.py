"""Modules that are first imported while an engine works are whole when other green threads see them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = '''
import json, sys
from heatlite.common import turns
from heatlite.common.whole_imports import resolved
from heatlite.engine import clients
from heatlite.engine.types import constraint_classes, event_sink_types, registry

unfinished = set()

def turn(*owners):
    """Others would run now: which modules would they see before they are complete?"""
    unfinished.update(name for name, module in list(sys.modules.items())
                      if getattr(getattr(module, '__spec__', None), '_initializing', False))

turns.use(turn)
turns.EVERY = 1
built_in = registry._built_in(None)
for {each} in {all}:
    {load}
print(json.dumps(sorted(unfinished)))
'''


@pytest.mark.parametrize('each, of, load', [
    ('kind', '[each for each in built_in._entries.values() if isinstance(each, registry.LazyClass)]', 'kind.load()'),
    ('name', 'constraint_classes.BUILT_IN', 'built_in.constraint(name)'),
    ('name', 'event_sink_types.BUILT_IN', 'resolved(event_sink_types.BUILT_IN[name])'),
    ('name', 'clients.BUILT_IN', 'resolved(clients.BUILT_IN[name])')],
    ids=['types', 'constraints', 'sinks', 'clients'])
def test_no_module_is_seen_before_it_is_complete(each, of, load):
    program = PROGRAM.format(each=each, all=of, load=load)
    found = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout) == []
