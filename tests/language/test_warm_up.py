"""What the first YAQL expression would wait for is done before."""

import subprocess
import sys

import pytest

CODE = '''
import sys
from heatlite.common.limits import USUAL
from heatlite.language.functions import query
assert 'yaql' not in sys.modules                # until it is asked for: programs that only print their help
query.warm_up(USUAL)
from heatlite.language.functions import query_bounds
loaded, made = set(sys.modules), (query_bounds.engine.cache_info().misses, query_bounds._library.cache_info().misses)
statement = query_bounds.parsed('$.data.select($ + 1).sum()', USUAL.yaql_iterators, USUAL.yaql_memory)
assert query_bounds.evaluate(statement, {'data': [1, 2]}, USUAL.yaql_calls) == 5
assert made == (1, 1) == (query_bounds.engine.cache_info().misses, query_bounds._library.cache_info().misses)
assert not [name for name in set(sys.modules) - loaded if name.startswith('yaql')]
'''


def test_the_first_expression_finds_all_made():
    subprocess.run([sys.executable, '-c', CODE], check=True, timeout=60)


@pytest.mark.parametrize('program', ['engine', 'api', 'manage'])
def test_no_program_loads_it_for_its_help(program):
    code = (f'import sys\nfrom heatlite.cmd import {program}\ntry:\n    {program}.main(["--help"])\n'
            'except SystemExit:\n    pass\nassert "yaql" not in sys.modules')
    subprocess.run([sys.executable, '-c', code], check=True, timeout=60, capture_output=True)
