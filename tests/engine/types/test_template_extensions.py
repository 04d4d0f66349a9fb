"""Versions and functions of the template language that installed packages bring."""

import re
import sys
import textwrap

import pytest

from heatlite.cmd import manage
from heatlite.common import exception
from heatlite.common.limits import Limits
from heatlite.engine.compat import extensions
from heatlite.engine.types import registry, template_extensions
from heatlite.language import definition as definitions
from heatlite.language import template, versions
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.expression import PLACEHOLDERS, UNKNOWNS, check
from heatlite.language.unknown import UNKNOWN

MODULE = '''
    from heat.engine import function
    from heat.engine.cfn import template as cfn_template
    from heat.engine.hot import template as hot_template
    from heatlite.language.expression import Call

    class Shout(function.Function):
        """Writes a text in capitals."""

        def validate(self):
            if not isinstance(self.args, str):
                raise TypeError('"%s" wants a text' % self.fn_name)

        def result(self):
            return function.resolve(self.args).upper()

    class Fill(function.Function):
        def __init__(self, stack, fn_name, args):
            super().__init__(stack, fn_name, args)
            if not args:
                raise ValueError('nothing to fill')

        def result(self):
            return ['x'] * int(function.resolve(self.args))

    class Nothing(function.Function):
        def result(self):
            return Ellipsis

    class Late(Call):
        """The newest versions only."""
        __slots__ = ()
        since = '2021-04-16'
        cfn = ('2012-12-12',)

        def result(self, args, scope):
            return ['late', args]

    class AcmeTemplate(hot_template.HOTemplate20180831):
        functions = {**hot_template.HOTemplate20180831.functions, 'shout': Shout, 'get_file': function.Invalid}
        del functions['yaql']

    class AcmeCfn(cfn_template.CfnTemplate):
        functions = {'Fn::Shout': Shout}

    class Macro(function.Macro):
        pass

    class Sections(hot_template.HOTemplate20180831):
        def resource_definitions(self, stack):
            return {}
'''
POINTS = '''
    [heat.templates]
    heat_template_version.2099-01-01 = acme:AcmeTemplate
    AWSTemplateFormatVersion.acme = acme:AcmeCfn
    heat_template_version.pike = acme:AcmeTemplate
    heat_template_version.sections = acme:Sections
    heat_template_version.other-base = acme:AcmeCfn
    heat_template_version.no-class = acme:Shout
    heat_template_version.missing = acme:Missing
    acme_version.1 = acme:AcmeTemplate
    [heatlite.template_functions]
    fill = acme:Fill
    nothing = acme:Nothing
    late = acme:Late
    str_replace = acme:Shout
    macro = acme:Macro
'''
LEFT_OUT = {
    'heat_template_version.pike': 'heat_template_version.pike is a version of the language',
    'heat_template_version.sections': 'it may change functions and condition_functions only, not resource_definitions',
    'heat_template_version.other-base': 'its base is a version of AWSTemplateFormatVersion',
    'heat_template_version.no-class': 'it is not a subclass of one in heat.engine.hot.template or',
    'heat_template_version.missing': "module 'acme' has no attribute 'Missing'",
    'acme_version.1': 'its name is not KEY.VERSION with one of the keys heat_template_version,',
    'str_replace': 'str_replace is a function of the language',
    'macro': 'Macro is a Macro, which heatlite does not have'}


def distribution(folder, name, points, **modules):
    """A package as pip would leave it."""
    for module, text in modules.items():
        (folder / f'{module}.py').write_text(textwrap.dedent(text))
    info = folder / f'{name}-1.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: 1\n')
    (info / 'entry_points.txt').write_text(textwrap.dedent(points))


@pytest.fixture
def package(tmp_path, monkeypatch):
    distribution(tmp_path, 'acme', POINTS, acme=MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    extensions.forget()
    yield tmp_path
    monkeypatch.undo()
    for module in ('acme', 'city'):
        sys.modules.pop(module, None)
    extensions.forget()
    versions.extend()


@pytest.fixture
def installed(package):
    template_extensions.install()


def output(value, version='2099-01-01', limits=Limits(), key='heat_template_version'):
    keys = ('resources', 'outputs', 'type', 'value') if key.startswith('heat') else (
        'Resources', 'Outputs', 'Type', 'Value')
    document = {key: version, keys[0]: {'r': {keys[2]: 'OS::Heat::None'}}, keys[1]: {'o': {keys[3]: value}}}
    made = definitions.build(template.from_mapping(document), Environment(), {}, StackIdentity('s', None, 'p'),
                             limits=limits)
    return made.outputs['o']


def value_of(value, version='2099-01-01', scope=PLACEHOLDERS, **options):
    return output(value, version, **options).resolve(scope)


@pytest.mark.parametrize('expression, value', [
    ({'shout': 'loud'}, 'LOUD'), ({'shout': {'list_join': ['-', ['a', 'b']]}}, 'A-B'),
    ({'str_split': [',', {'shout': 'a,b'}]}, ['A', 'B']),
    ({'yaql': {'expression': '1'}}, {'yaql': {'expression': '1'}}),
    ({'fill': 2}, ['x', 'x']), (['a', {'nothing': None}], ['a']), ({'late': 1}, {'late': 1})])
def test_a_version_has_the_functions_of_its_class_and_those_of_packages(installed, expression, value):
    assert value_of(expression) == value


def test_a_value_that_is_not_known_yet_makes_the_call_unknown(installed):
    assert value_of({'shout': {'get_attr': ['r', 'show']}}, scope=UNKNOWNS) is UNKNOWN


@pytest.mark.parametrize('version, key, expression, value', [
    ('2013-05-23', 'heat_template_version', {'fill': 1}, ['x']),
    ('2021-04-16', 'heat_template_version', {'late': 1}, ['late', 1]),
    ('wallaby', 'heat_template_version', {'late': 1}, ['late', 1]),
    ('2018-08-31', 'heat_template_version', {'late': 1}, {'late': 1}),
    ('2012-12-12', 'HeatTemplateFormatVersion', {'late': 1}, ['late', 1]),
    ('2010-09-09', 'AWSTemplateFormatVersion', {'late': 1}, {'late': 1}),
    ('2018-08-31', 'heat_template_version', {'shout': 'a'}, {'shout': 'a'}),
    ('acme', 'AWSTemplateFormatVersion', {'Fn::Shout': 'a'}, 'A'),
    ('acme', 'AWSTemplateFormatVersion', {'Fn::Join': ['', []]}, {'Fn::Join': ['', []]})])
def test_a_function_joins_the_versions_it_names(installed, version, key, expression, value):
    assert value_of(expression, version, key=key) == value


@pytest.mark.parametrize('expression', [{'fill': 0}, {'k': [{'fill': 0}]}])
def test_a_function_that_cannot_be_made_is_refused_where_it_stands(installed, expression):
    with pytest.raises(exception.StackValidationFailed, match=r'\Aoutputs\.o\.value.*fill: nothing to fill'):
        value_of(expression)


@pytest.mark.parametrize('expression, text', [
    ({'shout': [1]}, '"shout" wants a text'), ({'get_file': 'f'}, 'The function get_file is not supported')])
def test_arguments_are_checked(installed, expression, text):
    found = [str(error) for error in check(output(expression).expression)]
    assert len(found) == 1 and text in found[0]


def test_a_result_has_the_bounds_of_all_functions(installed):
    with pytest.raises(exception.RequestLimitExceeded, match='"fill" gives more'):
        value_of({'fill': 1000}, limits=Limits(max_result=1000))


def test_versions_and_functions_are_listed(installed):
    added = [each for each in versions.listed() if each['version'].endswith(('.2099-01-01', '.acme'))]
    assert added == [{'version': 'AWSTemplateFormatVersion.acme', 'type': 'cfn', 'aliases': []},
                     {'version': 'heat_template_version.2099-01-01', 'type': 'hot', 'aliases': []}]
    rows = {row['functions']: row['description'] for row in versions.listed_functions(added[1]['version'])}
    assert rows['shout'] == 'Writes a text in capitals.'
    assert {'fill', 'get_param'} <= rows.keys() and not {'yaql', 'late', 'get_file'} & rows.keys()
    for version in ('heat_template_version.2013-05-23', 'HeatTemplateFormatVersion.2012-12-12'):
        names = [row['functions'] for row in versions.listed_functions(version)]
        assert len(names) == len(set(names)) and {'fill', 'late'} & set(names)


def test_what_cannot_be_used_is_logged_and_left_out(package, caplog):
    template_extensions.install()
    for name, why in LEFT_OUT.items():
        assert any(name in line and why in line for line in caplog.messages), name
    assert len([line for line in caplog.messages if 'left out' in line]) == len(LEFT_OUT)
    assert value_of({'str_replace': {'template': 'a', 'params': {'a': 'b'}}}, '2018-08-31') == 'b'


def test_an_engine_loads_them_with_its_plugins(package):
    registry.create().load_plugins()
    registry.use(None)
    assert value_of({'shout': 'a'}) == 'A'


def test_without_the_package_the_version_is_unknown():
    template_extensions.install()
    with pytest.raises(exception.InvalidTemplateVersion, match='2099-01-01'):
        value_of('a')
    assert versions.listed() == [
        {'version': each.name, 'type': each.family, 'aliases': [
            f'heat_template_version.{alias}' for alias, date in versions.ALIASES.items() if date == each.date]}
        for each in sorted(versions.EDITIONS, key=lambda each: each.name)]


def test_a_name_for_heatlite_hides_the_same_name_for_heat(package, tmp_path):
    distribution(tmp_path, 'city', '[heatlite.templates]\nheat_template_version.2099-01-01 = city:City\n', city='''
        from heat.engine.hot import template
        class City(template.HOTemplate20210416):
            pass
    ''')
    extensions.forget()
    template_extensions.install()
    assert value_of({'shout': 'a'}) == {'shout': 'a'}


def test_of_two_packages_with_the_same_name_one_is_used_with_a_warning(package, tmp_path, caplog):
    distribution(tmp_path, 'city', '[heatlite.template_functions]\nfill = city:Fill\n', city='''
        from heat.engine import function
        class Fill(function.Function):
            def result(self):
                return ['x', 'x']
    ''')
    extensions.forget()
    template_extensions.install()
    assert value_of({'fill': 2}) == ['x', 'x']
    assert any(record.levelname == 'WARNING' and 'fill' in record.getMessage() for record in caplog.records)


def test_the_command_names_what_cannot_be_used(package, capsys):
    assert manage.main(['--config-file', '/dev/null', 'plugins']) == 1
    rows = [re.split(r' {2,}', line) for line in capsys.readouterr().out.splitlines()]
    errors = {row[0]: row[2] for row in rows[1:] if row[0] in LEFT_OUT or ('acme:' in row[1] and len(row) > 2)}
    assert errors.keys() == LEFT_OUT.keys()
    assert all(why in errors[name] for name, why in LEFT_OUT.items())
