"""Only the operator's environments may name files of the host, and only regular files are read.

All callers of `urlfetch` that pass on a name: requests about types, the checks of a definition, the resource itself.
"""

import os
import types as python_types
from pathlib import Path

import pytest

from heatlite.common import exception, urlfetch
from heatlite.common.context import RequestContext
from heatlite.common.limits import USUAL
from heatlite.common.template_files import Files
from heatlite.engine.requests import validation
from heatlite.engine.resources import template_resource
from heatlite.language import definition as definitions
from heatlite.language import template as templates
from heatlite.language.environment import Environment
from heatlite.language.registry import FoundType
from heatlite.rpc import messages

MEMBER = RequestContext(project_id='p', roles=['member'], overwrite=False)
TEMPLATE = 'heat_template_version: 2018-08-31\ndescription: Of the operator.\n'


@pytest.fixture
def file(tmp_path):
    found = tmp_path / 'secret.yaml'
    found.write_text(TEMPLATE)
    return found


@pytest.fixture
def opened(monkeypatch):
    """The paths that were opened while a file was fetched."""
    found = []
    before = os.open

    def noted(path, *arguments, **options):
        found.append(str(path))
        return before(path, *arguments, **options)
    monkeypatch.setattr(os, 'open', noted)
    return found


def spellings(file):
    yield from (f'file://{file}', f'file:{file}', 'file:' + str(file).replace('/', '%2F'), f'FILE://{file}',
                f'file://{file}#.yaml', f'file:{str(file.parent).replace("/", "%2F")}%23.yaml', f'http://127.0.0.1:9{file}',
                f'local_file://{file}', str(file))


@pytest.mark.parametrize('number', range(9))
@pytest.mark.parametrize('make', [messages.ResourceSchema, messages.GenerateTemplate])
def test_no_request_about_types_opens_what_its_caller_names(types, file, monkeypatch, number, make):
    def fetched(*_arguments):
        raise AssertionError('something was fetched')
    monkeypatch.setattr(urlfetch, 'get', fetched)
    name = list(spellings(file))[number]
    with pytest.raises(exception.EntityNotFound) as refused:
        (types.schema if make is messages.ResourceSchema else types.template)(MEMBER, make(name))
    assert refused.value.http_code == 404
    assert not types.list_types(MEMBER, messages.ListResourceTypes(name='file', with_description=True))


def test_wildcards_of_the_operator_make_no_name_of_a_caller_a_file(types, file, monkeypatch):
    types.load_environment({'resource_registry': {'Any::*': 'file://*', 'All::*': 'Any::*'}})
    monkeypatch.setattr(urlfetch, 'get', lambda *_arguments: pytest.fail('something was fetched'))
    for prefix in ('Any::', 'All::'):
        for name in (f'{prefix}{file}', f'{prefix}{file.with_suffix("")}'):
            with pytest.raises(exception.EntityNotFound):
                types.schema(MEMBER, messages.ResourceSchema(name))


def test_the_operators_own_targets_are_shown(types, file):
    types.load_environment({'resource_registry': {'Acme::One': file.as_uri(), 'Acme::Two': 'Acme::One'}})
    for name in ('Acme::One', 'Acme::Two'):
        assert types.schema(MEMBER, messages.ResourceSchema(name))['resource_type'] == name
        assert types.template(MEMBER, messages.GenerateTemplate(name, 'hot'))


def definition(types, type_name, registry):
    document = {'heat_template_version': '2018-08-31', 'resources': {'r': {'type': type_name}}}
    return definitions.build(templates.from_mapping(document),
                             Environment({'resource_registry': registry}, types.operator), {},
                             definitions.StackIdentity('s', None, 'p'))


def registries(file):
    """(type, what a user's registry says)."""
    return [(f'file://{file}', {}), ('A', {'A': f'file://{file}'}), ('A', {'resources': {'r': {'A': f'file://{file}'}}}),
            (f'x{file}', {'x*': 'file://*'}), ('A', {'*': f'file://{file}'})]


@pytest.mark.parametrize('number', range(5))
def test_checks_and_resources_of_users_read_no_file(types, file, opened, number):
    type_name, registry = registries(file)[number]
    built = definition(types, type_name, registry)
    with pytest.raises(exception.StackValidationFailed):
        validation.check_request(built, types, MEMBER)
    with pytest.raises(exception.StackValidationFailed):
        child_of(built.environment.find(type_name, 'r'))
    assert str(file) not in opened


def test_checks_and_resources_read_files_of_the_operator(types, file, opened):
    types.load_environment({'resource_registry': {'Acme::One': file.as_uri()}})
    built = definition(types, 'Acme::One', {})
    validation.check_request(built, types, MEMBER)
    assert child_of(built.environment.find('Acme::One', 'r')).description == 'Of the operator.'
    assert opened.count(str(file)) == 2


def child_of(found: FoundType):
    """The template of a resource of the type, which has no nested stack yet."""
    class New(template_resource.TemplateResource):
        stack = python_types.SimpleNamespace(defn=python_types.SimpleNamespace(files=Files.of({}), limits=USUAL))

        def nested(self):
            return None
    return object.__new__(New)._child_of(found)


def test_regular_files_only(tmp_path, file):
    pipe = tmp_path / 'pipe.yaml'
    os.mkfifo(pipe)
    (tmp_path / 'link.yaml').symlink_to(file)
    assert urlfetch.get_template((tmp_path / 'link.yaml').as_uri(), by_operator=True) == TEMPLATE
    for path in (pipe, tmp_path, Path('/dev/zero'), Path('/proc/self/fd/0'), tmp_path / 'none.yaml'):
        with pytest.raises(urlfetch.URLFetchError, match='Failed to retrieve template'):
            urlfetch.get(f'file://{path}', urlfetch.LOCAL_TOO)


@pytest.mark.parametrize('change', [
    lambda url: url.replace('secret', '%73ecret'), lambda url: url + '#', lambda url: url + '?',
    lambda url: url.replace('file:///', 'file://elsewhere/'), lambda url: 'file:secret.yaml'])
def test_the_path_is_taken_as_it_stands(file, opened, change):
    with pytest.raises(urlfetch.URLFetchError):
        urlfetch.get(change(file.as_uri()), urlfetch.LOCAL_TOO)
    assert not opened
