"""One word, one thing: each public class of a package has a name of its own."""

import ast

import pytest

from tests.architecture import source

# Plug-ins written for Heat import these classes from these modules, by these names.
OF_THE_CONTRACT = {
    'AccessKey': {'heatlite.engine.clients.os.keystone.heat_keystoneclient', 'heatlite.engine.resources.aws.iam.user'},
    'FlavorConstraint': {'heatlite.engine.clients.os.nova', 'heatlite.engine.clients.os.octavia',
                         'heatlite.engine.clients.os.trove'},
    'Instance': {'heatlite.engine.resources.aws.ec2.instance', 'heatlite.engine.resources.openstack.trove.instance'},
    'Invalid': {'heatlite.common.exception', 'heatlite.engine.function'},
    'ListenerConstraint': {'heatlite.engine.clients.os.neutron.neutron_constraints',
                           'heatlite.engine.clients.os.octavia'},
    'LoadbalancerConstraint': {'heatlite.engine.clients.os.neutron.neutron_constraints',
                               'heatlite.engine.clients.os.octavia'},
    'NoUniqueMatch': {'heatlite.engine.clients.os.manila', 'heatlite.engine.clients.os.neutron'},
    'PoolConstraint': {'heatlite.engine.clients.os.neutron.neutron_constraints', 'heatlite.engine.clients.os.octavia'},
    'Schema': {'heatlite.engine.attributes', 'heatlite.language.schema'},
    'SecurityGroup': {'heatlite.engine.resources.aws.ec2.security_group',
                      'heatlite.engine.resources.openstack.neutron.security_group'},
}


def classes(tree):
    """The public classes that a module defines."""
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith('_')]


def places(package):
    """{name of a public class: modules that define one}"""
    found = {}
    for path in sorted((source.ROOT / package).rglob('*.py')):
        module = '.'.join(path.relative_to(source.ROOT).with_suffix('').parts).removesuffix('.__init__')
        for name in classes(ast.parse(path.read_text())):
            found.setdefault(name, set()).add(module)
    return found


@pytest.mark.parametrize('text, found', [
    ('class A: pass\nclass _B: pass', ['A']),
    ('def f():\n  class A: pass', []),
    ('class A:\n  class B: pass', ['A']),
])
def test_which_classes_are_looked_at(text, found):
    assert classes(ast.parse(text)) == found


@pytest.mark.parametrize('package', ['heatlite', 'cloudsim'])
def test_no_name_is_used_twice(package):
    twice = {name: sorted(modules) for name, modules in places(package).items()
             if len(modules) > 1 and modules != OF_THE_CONTRACT.get(name)}
    assert twice == {}


def test_the_names_of_the_contract_are_there():
    there = places('heatlite')
    assert {name: there[name] for name in OF_THE_CONTRACT} == OF_THE_CONTRACT


def renamed(tree):
    """`from heatlite... import Name as Other`: classes of ours under another name."""
    return [f'{name.name} as {name.asname}' for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            if (node.module or '').split('.')[0] in ('heatlite', 'cloudsim')
            for name in node.names
            if name.asname and name.asname != name.name and name.name[:1].isupper() and not name.name.isupper()]


@pytest.mark.parametrize('text, found', [
    ('from heatlite.db.stacks import StoredStack as Row', ['StoredStack as Row']),
    ('from heatlite.db import stacks as rows', []),
    ('from heatlite.planning.states import ACTIONS as THEM', []),
    ('from oslo_config.cfg import Opt as Option', []),
])
def test_which_renamed_imports_are_found(text, found):
    assert renamed(ast.parse(text)) == found


def test_no_class_is_imported_under_another_name():
    found = {name: names for name, path in source.modules().items() if (names := renamed(ast.parse(path.read_text())))}
    assert found == {}


def renamed_beside(tree, modules):
    """Modules of ours that have another name in a file because two of the same name are imported there."""
    found = {}
    renamed_modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                if f'{node.module}.{name.name}' in modules:
                    found.setdefault(name.name, set()).add(f'{node.module}.{name.name}')
                    if name.asname:
                        renamed_modules.add(name.name)
    return sorted(name for name in renamed_modules if len(found[name]) > 1)


@pytest.mark.parametrize('text, found', [
    ('from heatlite.db import events\nfrom heatlite.api import events as others', ['events']),
    ('from heatlite.db import events as rows', []),
    ('from heatlite.db import events\nfrom heatlite.api.events import show', []),
])
def test_which_modules_are_renamed_beside(text, found):
    assert renamed_beside(ast.parse(text), {'heatlite.db.events', 'heatlite.api.events'}) == found


def test_no_module_has_another_name_beside_one_of_its_name():
    modules = source.modules()
    found = {name: names for name, path in modules.items()
             if (names := renamed_beside(ast.parse(path.read_text()), set(modules)))}
    assert found == {}
