"""Commands that list what remains print nothing for people when nothing does."""

import argparse
import io
import json
from types import SimpleNamespace

import pytest

from heatlite.osc import forced_deletes, guards


@pytest.mark.parametrize('kind', [forced_deletes.ForceDeleteStackCommand, guards.UnprotectStackCommand])
@pytest.mark.parametrize('formatter, printed', [('table', ''), ('json', [])])
def test_nothing_is_left(kind, formatter, printed):
    said = io.StringIO()
    made = kind(SimpleNamespace(stdout=said), argparse.Namespace())
    chosen = made.get_parser('x').parse_args(['web', '-f', formatter])
    made.formatter = made._formatter_plugins[formatter].obj
    made.produce_output(chosen, ('path', 'deny'), [])
    assert (json.loads(said.getvalue()) if formatter == 'json' else said.getvalue()) == printed
