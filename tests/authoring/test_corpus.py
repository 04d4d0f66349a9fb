"""What the service refuses, heatlite-lint finds offline, or says that it needs a value or the cloud.

The service's answer to POST /stacks/preview, over all templates of the corpus, is compared with the linter's for the
same files.
"""

from __future__ import annotations

import json

import pytest

from heatlite.authoring import checking
from heatlite.authoring.reading import FileReader
from heatlite.language import rules
from tests.architecture import source
from tests.language import engine_driver, run_cases

CASES = run_cases.load(str(source.ROOT / 'tests/language/template-cases.yaml'))
OPERATIONS = ('parse', 'validate', 'resolve', 'dependencies', 'env_merge', 'create', 'template_validate')
BROKEN = sorted((source.ROOT / 'docs/users/broken').glob('*.yaml'))

# Refused for what no file on disk can be: a map among the texts, and a template that nothing uses.
OF_REQUESTS = {'get_file-json-object-content', 'nest-unused-file-with-bad-version'}


@pytest.fixture(scope='module', autouse=True)
def the_service():
    yield
    engine_driver.stop()


def refusal(body):
    """The text with which the service refuses a stack; None if it does not."""
    try:
        engine_driver.service().ask('POST', '/stacks/preview', {'stack_name': engine_driver.NAME, **body})
    except engine_driver.Refused as refused:
        return f'{refused.answer["status"]} {refused.answer["message"]}'
    return None


def linted(tmp_path, case):
    """The findings for the files of a case, with notes."""
    for name, text in (case.get('files') or {}).items():
        place = tmp_path / name.rpartition('/')[2]
        place.write_text(text if isinstance(text, str) else json.dumps(text))
    template = case.get('template')
    main = tmp_path / 'tplcase.yaml'
    main.write_text(template if isinstance(template, str) else json.dumps(template))
    environments = [str(tmp_path / name) for name in case.get('environment_files') or ()]
    if case.get('env') is not None:
        environments.append(str(tmp_path / 'env-of-case.yaml'))
        (tmp_path / 'env-of-case.yaml').write_text(
            case['env'] if isinstance(case['env'], str) else json.dumps(case['env']))
    return checking.check(str(main), environments, case.get('params'), notes=True, reading=FileReader())


@pytest.fixture(scope='module')
def refused():
    """The cases that the service refuses, each with its text; the same template counts once."""
    found, seen = [], set()
    for case in CASES:
        if case.get('op') not in OPERATIONS or case.get('template') is None:
            continue
        body = {'template': case['template'], 'parameters': case.get('params') or {}, 'files': case.get('files') or {}}
        if case.get('env') is not None:
            body['environment'] = case['env']
        if case.get('environment_files'):
            body['environment_files'] = case['environment_files']
        key = json.dumps(body, sort_keys=True, default=str)
        if key in seen:
            continue
        seen.add(key)
        text = refusal(body)
        if text is not None:
            found.append((case, text))
    yield found
    engine_driver.stop()


@pytest.mark.thorough
def test_each_refusal_of_the_service_is_found_offline(refused, tmp_path_factory):
    silent = {}
    for case, text in refused:
        try:
            findings = linted(tmp_path_factory.mktemp('case'), case)
        except FileNotFoundError as error:              # an environment file: the command says so, exit code 2
            assert case['name'] == 'envmerge-file-missing', error
            continue
        if not any(each.level in (rules.ERROR, rules.NOTE) or each.rule == rules.METADATA for each in findings):
            silent[case['name']] = text.split('\n')[0]
    assert len(refused) > 300
    assert silent.keys() == OF_REQUESTS


@pytest.mark.parametrize('path', BROKEN, ids=lambda path: path.name)
def test_broken_templates_of_the_docs(path):
    files = {each.relative_to(path.parent).as_posix(): each.read_text() for each in path.parent.glob('parts/*.yaml')}
    text = refusal({'template': path.read_text(), 'files': files})
    assert (text is None) == (rules.ERROR not in {each.level for each in checking.check(str(path))})
