"""Every example is without fault, and says what it shows."""

import subprocess

import pytest
import yaml

from heatlite.cmd import lint
from heatlite.common import password_gen
from tests.architecture import source

KEY, SECRET = 'a1', f'Zz9{password_gen.SPECIAL}'
EXAMPLES = sorted((source.ROOT / 'examples').glob('*.yaml'))


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.name)
def test_an_example_has_no_fault(path, capsys):
    assert lint.main([str(path)]) == 0, capsys.readouterr()
    said = yaml.safe_load(path.read_text())
    assert len(said.get('description') or said['Description']) > 20


def test_all_are_listed_for_users():
    listed = (source.ROOT / 'docs' / 'users' / 'index.rst').read_text()
    assert [path.name for path in EXAMPLES if f'examples/{path.name}' not in listed] == []


def script_of_the_servers(name):
    """The script that an example gives to servers, with the key of its user: words in which a shell sees more."""
    document = yaml.safe_load((source.ROOT / 'examples' / name).read_text())
    if 'resources' in document:
        data = document['resources']['group']['properties']['resource']['properties']['user_data']['str_replace']
        return data['template'].replace('KEY', KEY).replace('SECRET', SECRET)
    parts = document['Resources']['Configuration']['Properties']['UserData']['Fn::Base64']['Fn::Join'][1]
    known = {'Key': KEY, 'High': 'shop-High'}
    return ''.join(part if isinstance(part, str) else SECRET if 'Fn::GetAtt' in part else known[part['Ref']]
                   for part in parts)


@pytest.mark.parametrize('name', ['autoscaling.yaml', 'autoscaling-cfn.yaml'])
def test_any_key_reaches_the_servers(name, tmp_path):
    """Secrets are made of letters, digits and characters that mean something to a shell."""
    (tmp_path / 'cron.d').mkdir()
    script = script_of_the_servers(name).replace('/etc', str(tmp_path))
    done = subprocess.run(['sh', '-c', script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ('', '')
    assert (tmp_path / 'cfn/cfn-credentials').read_text() == f'AWSAccessKeyId={KEY}\nAWSSecretKey={SECRET}\n'
    assert 'cfn-push-stats' in (tmp_path / 'cron.d/load').read_text()
