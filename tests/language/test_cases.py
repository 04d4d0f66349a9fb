"""Every case of the case file: the language alone, and created stacks in memory."""

from pathlib import Path

import pytest

from tests.language import dry_run, run_cases

CASES = run_cases.load(str(Path(__file__).with_name('template-cases.yaml')))
IN_MEMORY = {'create': dry_run.create, 'update': dry_run.update}
STORED = {'env-user-encrypted-names-kept'}      # what a stored environment shows is the engine's


@pytest.mark.parametrize('case', CASES, ids=lambda case: case['name'])
def test_case(case, monkeypatch):
    if case['op'] in IN_MEMORY:
        if case['name'] in STORED:
            pytest.skip('needs a stored stack')
        monkeypatch.setitem(run_cases.OPERATIONS, case['op'], dry_run.told_if_failed(IN_MEMORY[case['op']]))
    verdict = run_cases.run(case)
    assert verdict.passed, verdict.got
