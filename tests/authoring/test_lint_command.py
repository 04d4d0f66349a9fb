"""heatlite-lint: many files, standard input, parameters, comments, notes, excerpts."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from heatlite.authoring import findings, reading
from heatlite.cmd import lint as command
from heatlite.language import rules
from tests.architecture.source import ROOT

HEAD = 'heat_template_version: 2021-04-16\n'
USED = HEAD + 'parameters:\n  size: {type: number, default: 1, constraints: [{range: {max: 5}}]}\n' \
    'outputs:\n  size: {value: {get_param: size}}\n'
UNUSED = HEAD + 'parameters:\n  size: {type: number, default: 1}\n'


@pytest.fixture
def lint(tmp_path, monkeypatch, capsys):
    """Writes files, runs the command, returns (exit code, lines)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, **files):
        for name, text in files.items():
            place = tmp_path / f'{name}.yaml'
            place.write_text(text)
        code = command.main([*arguments])
        return code, capsys.readouterr().out.splitlines()

    return run


def test_files_and_folders_are_checked_in_one_run(lint, tmp_path):
    (tmp_path / 'sub' / 'deep').mkdir(parents=True)
    (tmp_path / 'sub' / 'deep' / 'one.yaml').write_text(UNUSED)
    (tmp_path / 'sub' / 'env.yaml').write_text('parameters: {size: 1}\n')         # no template
    (tmp_path / 'sub' / 'two.template').write_text(HEAD + 'resources: {r: {}}\n')
    assert lint('a.yaml', 'sub', '--format', 'short', a='a: [') == (1, [
        *lint('a.yaml', '--format', 'short')[1],
        'sub/deep/one.yaml:3:3: warning: The parameter "size" is not used [HL508]',
        'sub/two.template:2:13: error: Each resource must contain a type key. [HL103]'])


def test_a_nested_template_of_the_folder_is_reported_once(lint):
    assert lint('.', '--format', 'short', root=HEAD + 'resources:\n  c: {type: child.yaml}\n',
                child=HEAD + 'resources:\n  r: {type: OS::Heat::Value, properties: {valu: 1, value: 1}}\n') == (1, [
        'child.yaml:3:43: error: Property error: resources.r.properties: Unknown Property valu '
        '(did you mean "value"?) [HL301]'])


def test_standard_input(lint, monkeypatch):
    monkeypatch.setattr('sys.stdin', io.StringIO(UNUSED))
    assert lint('-') == (0, ['<stdin>:3:3: warning: The parameter "size" is not used [HL508]',
                             '      size: {type: number, default: 1}', '      ^'])


def test_files_that_cannot_be_read_do_not_hide_what_is_wrong_with_others(lint, capsys):
    lint('a.yaml', a=USED)
    assert command.main(['missing.yaml', 'a.yaml', 'gone.yaml', '-P', 'size=6', '--format', 'short']) == 2
    said = capsys.readouterr()
    assert "Parameter 'size' is invalid" in said.out
    assert ['missing.yaml' in said.err, 'gone.yaml' in said.err] == [True, True]


def test_values_of_parameters_are_checked(lint):
    assert lint('a.yaml', '-P', 'size=5', a=USED) == (0, [])
    code, lines = lint('a.yaml', '-P', 'size=6', '--format', 'short')
    assert (code, lines) == (1, [
        "a.yaml:3:3: error: Parameter 'size' is invalid: 6 is out of range (min: None, max: 5) [HL104]"])
    assert lint('a.yaml', '-P', 'sise=6')[0] == 1
    assert lint('a.yaml', '-P', 'size')[0] == 2


def test_comments_disable_rules_in_a_line_or_in_the_file(lint):
    line = UNUSED.replace('1}', '1}   # heatlite-lint: disable=HL501, HL508')
    assert lint('a.yaml', a=line) == (0, [])
    assert lint('a.yaml', a=f'# heatlite-lint: disable=HL508\n{UNUSED}') == (0, [])
    assert len(lint('a.yaml', a=UNUSED.replace('1}', '1}   # heatlite-lint: disable=HL501'))[1]) == 3
    code, lines = lint('a.yaml', '--format', 'short', a=f'# heatlite-lint: disable=HL508,HL50\n{UNUSED}')
    assert code == 0 and lines[0].startswith('a.yaml:1:32: warning: There is no rule "HL50"')


@pytest.mark.parametrize('text, place', [
    ('parameters: {}\nparameter: {}\n', 'env.yaml:2:1: error: environment has wrong section "parameter" [HL005]'),
    ('parameters: {}\nevent_sinks: {a: 1}\n',
     'env.yaml:2:1: error: The environment section "event_sinks" must be a list'),
    ('parameters: {a: b: c}\n', 'env.yaml:1:18: error: while parsing a flow mapping')])
def test_errors_of_environments_have_their_place(lint, text, place):
    code, [line, *_more] = lint('a.yaml', '-e', 'env.yaml', '--format', 'short', a=USED, env=text)
    assert code == 1 and line.startswith(place)


@pytest.mark.parametrize('name', ['/dev/zero', '/dev/full', '.'])
def test_what_is_no_file_is_not_read(lint, name):
    code, [line] = lint('a.yaml', '--format', 'short', a=f'{HEAD}outputs: {{o: {{value: {{get_file: "{name}"}}}}}}\n')
    assert code == 1 and line.endswith(' is not a file [HL004]')


def test_a_file_that_cannot_be_read_is_one_finding_where_it_is_used(lint):
    code, lines = lint(
        'a.yaml', '-e', 'env.yaml', '--format', 'short', env='resource_registry:\n  My::Type: none.yaml\n',
        nested=HEAD + 'resources:\n  inside: {type: gone.yaml}\n',
        group=HEAD + 'resources:\n'
                     '  group: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: away.yaml}}}\n',
        a=HEAD + 'resources:\n  one: {type: nested.yaml}\n  two: {type: group.yaml}\n  three: {type: My::Type}\n'
                 'outputs:\n  o: {value: {get_file: lost.txt}}\n')
    assert code == 1
    assert [(line.split(':')[:3], line.rpartition('/')[2]) for line in lines] == [
        (['nested.yaml', '3', '12'], "gone.yaml [HL004]"),
        (['group.yaml', '3', '70'], "away.yaml [HL004]"),
        (['a.yaml', '7', '15'], "lost.txt [HL004]"),
        (['env.yaml', '2', '3'], "none.yaml [HL004]")]


def test_a_file_that_cannot_be_read_is_no_second_finding_where_its_text_is_used(lint):
    code, lines = lint(
        'a.yaml', '--format', 'short',
        nested=HEAD + 'resources:\n  s: {type: OS::Heat::Value, properties: {value: {get_file: gone.txt}}}\n',
        a=HEAD + 'resources:\n  r: {type: OS::Heat::RandomString, properties: {salt: {get_file: lost.txt}}}\n'
                 '  s: {type: nested.yaml}\n'
                 '  t:\n    type: OS::Heat::SoftwareConfig\n    properties:\n'
                 '      config: {str_replace: {template: {get_file: lost.txt}, params: {a: b}}}\n')
    assert code == 1
    assert [(line.split(':')[:3], line.rpartition('/')[2]) for line in lines] == [
        (['a.yaml', '3', '57'], "lost.txt [HL004]"),
        (['nested.yaml', '3', '51'], "gone.txt [HL004]"),
        (['a.yaml', '8', '41'], "lost.txt [HL004]")]


def test_the_text_of_a_file_elsewhere_is_no_error(lint):
    text = 'resources:\n  s: {type: OS::Heat::Value, properties: {value: {get_file: "https://example.org/x"}}}\n'
    assert lint('a.yaml', '--format', 'short', a=HEAD + text)[0] == 0


def test_what_the_service_fetches_is_no_error(lint):
    text = HEAD + 'resources:\n  there: {type: "https://example.org/there.yaml"}\n' \
        '  stack: {type: AWS::CloudFormation::Stack, properties: {TemplateURL: "https://example.org/there.yaml"}}\n' \
        'outputs:\n  text: {value: {get_file: "http://example.org/text"}}\n'
    assert lint('a.yaml', '--format', 'short', a=text) == (0, [])
    code, lines = lint('a.yaml', '--format', 'short', '--notes', a=text)
    assert code == 0
    assert [line.partition(': note: ')[0] for line in lines] == ['a.yaml:3:11']
    assert all(line.endswith('only the cloud can check this [HL901]') for line in lines)


def test_huge_files_are_not_read(lint, tmp_path):
    with (tmp_path / 'huge').open('wb') as sparse:
        sparse.truncate(reading.MOST_FILE_BYTES + 1)
    code, [line] = lint('a.yaml', '--format', 'short', a=f'{HEAD}outputs: {{o: {{value: {{get_file: huge}}}}}}\n')
    assert code == 1 and f'has more than {reading.MOST_FILE_BYTES} bytes [HL004]' in line


def test_environments_and_templates_fail_in_one_run(lint):
    code, lines = lint('a.yaml', 'b.yaml', '-e', 'env.yaml', '--format', 'short', a='a: [', b=UNUSED,
                       env='parameter: 1')
    assert code == 1
    assert [line.rpartition(' ')[2] for line in lines if line.endswith(']')][-1] == '[HL005]'
    assert any(line.startswith('a.yaml:1:5: error: ') for line in lines)


def test_notes_are_shown_when_asked_for(lint):
    text = HEAD + 'resources:\n  r: {type: OS::Neutron::Port, properties: {network: web}}\n'
    assert lint('a.yaml', a=text) == (0, [])
    code, lines = lint('a.yaml', '--notes', '--format', 'short')
    assert code == 0 and lines == [
        'a.yaml:3:45: note: Property error: resources.r.properties.network: Error validating value \'web\': '
        'neutron.network "web": only the cloud can check this [HL901]']


def test_json_has_positions(lint):
    code, lines = lint('a.json.yaml', **{'a.json': json.dumps({
        'heat_template_version': '2021-04-16', 'resources': {'r': {'type': 'OS::Heat::Valu'}}}, indent=1)})
    assert code == 1 and lines[0].startswith('a.json.yaml:5:4: error: ')


def test_sarif_describes_all_rules(lint):
    _code, lines = lint('a.yaml', '--format', 'sarif', a=UNUSED)
    run, = json.loads('\n'.join(lines))['runs']
    assert [rule['id'] for rule in run['tool']['driver']['rules']] == list(rules.BY_ID)
    assert run['results'][0]['ruleId'] == rules.UNUSED_PARAMETER


def test_a_long_line_is_cut_around_the_place():
    found = findings.LintFinding(rules.UNUSED_PARAMETER, 'Advice', 'm', 'f', 1, 1001)
    source, caret = findings.excerpt(found, 'a' * 1000 + 'B' + 'c' * 1000)
    assert len(source) == findings.LONGEST_LINE + 4
    assert source[caret.index('^')] == 'B'


@pytest.mark.parametrize('name, words', [
    ('OS::Nova::Server.networks', ['Type: list of map', 'Update: in place', '(attribute)']),
    ('OS::Nova::Server.networks.fixed_ip', ['Type: string']),
    ('OS::Heat::RandomString.value', ['OS::Heat::RandomString.value (attribute)', '{get_attr: [my_resource, value]}']),
    ('OS::Heat::RandomString', ['Properties:', 'Attributes:', 'type: OS::Heat::RandomString']),
])
def test_types_are_explained(lint, name, words):
    code, lines = lint('--explain', name)
    assert code == 0 and all(any(word in line for line in lines) for word in words)


def test_the_explanation_of_a_type_describes_its_members(lint):
    code, lines = lint('--explain', 'OS::Heat::RandomString')
    assert code == 0 and lines[2].startswith('A random text')
    assert '  length (integer, default 32, a change replaces): Number of characters.' in lines
    assert '  value: The random string.' in lines
    assert any(line.startswith('  flavor (string, required): ')
               for line in lint('--explain', 'OS::Nova::Server')[1])


@pytest.mark.parametrize('name, hint', [
    ('OS::Nova::Servr', 'did you mean "OS::Nova::Server"?'), ('OS::Nova::Server.flavr', 'did you mean "flavor"?'),
    ('OS::Nova::Server.networks.fixd_ip', 'did you mean "fixed_ip"?')])
def test_what_is_unknown_has_a_hint(name, hint, capsys):
    assert command.main(['--explain', name]) == 2
    assert capsys.readouterr().err.strip().endswith(hint)


def test_the_program_prints_findings_and_nothing_else():
    """No advice of libraries to their users' developers."""
    environment = {name: text for name, text in os.environ.items() if name != 'PYTHONWARNINGS'}
    done = subprocess.run([Path(sys.executable).with_name('heatlite-lint'), ROOT / 'examples' / 'servers.yaml'],
                          capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')


@pytest.mark.parametrize('text, hint', [
    ('heat_template_version: 2021-04-16\nresources:\n\tx: 1\n', 'YAML is indented with blanks, not with tabs'),
    ('resources: {}\n', 'add "heat_template_version: 2021-04-16" as the first line'), ('\n', 'the file is empty'),
    ('heat_template_version: 2021-04-17\n', 'did you mean "2021-04-16"?'),
    ('{\n // a comment\n "heat_template_version": "2021-04-16"}\n', 'JSON has no comments'),
    ('heat_template_version: 2021-04-16\nresources:\n  z: OS::Heat::Value\n', 'write "z: {type: OS::Heat::Value}"')])
def test_a_first_mistake_has_a_hint(text, hint, tmp_path, capsys):
    file = tmp_path / 'first.yaml'
    file.write_text(text)
    assert command.main([str(file)]) == 1
    assert f'({hint})' in capsys.readouterr().out


@pytest.mark.parametrize('name', ['tempate.yaml', 'first.yaml'])
def test_a_missing_file_is_named_in_words(name, tmp_path, capsys):
    (tmp_path / 'template.yaml').write_text('text')
    first = tmp_path / 'first.yaml'
    if name == first.name:
        first.write_text('heat_template_version: 2021-04-16\nresources:\n  x:\n    type: OS::Heat::Value\n'
                         '    properties: {value: {get_file: tempate.yaml}}\n')
    assert command.main([str(tmp_path / name)]) == (1 if name == first.name else 2)
    said = capsys.readouterr()
    assert f'There is no file {tmp_path}/tempate.yaml; did you mean "template.yaml"?' in said.out + said.err
