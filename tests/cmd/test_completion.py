"""What bash completes of heatlite-manage, asked of bash itself."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.system.processes import ROOT

pytestmark = pytest.mark.skipif(shutil.which('bash') is None, reason='needs bash')


@pytest.fixture(scope='module')
def script():
    done = subprocess.run([sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', 'completion', 'bash'], cwd=ROOT,
                          capture_output=True, text=True, timeout=60, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize('words, found', [
    (['do'], ['doctor']),
    (['--conf'], ['--config-dir', '--config-file']),
    (['setup', ''], ['keystone', '--help']),
    (['setup', 'keystone', '--do'], ['--domain', '--domain-admin']),
    (['--config-file', '/dev/null', 'encryption_keys', 're'], ['reencrypt']),
    (['doctor', '--format', ''], ['text', 'json']),
    (['doctor', '--timeout', ''], []),
    (['purge_deleted', '-g', 'h'], ['hours']),
    (['update_params', 'e'], ['encrypt']),
    (['completion', ''], ['bash', '--help'])], ids=lambda words: ' '.join(words))
def test_completion(script, words, found):
    line = ' '.join(shlex.quote(word) for word in ['heatlite-manage', *words])
    done = subprocess.run(['bash', '-c', f'{script}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words)}\n_heatlite_manage\n'
                                         'printf "%s\\n" "${COMPREPLY[@]}"'],
                          capture_output=True, text=True, timeout=60)
    assert done.stderr == '' and [word for word in done.stdout.split('\n') if word] == found


def test_files_are_completed(script):
    done = subprocess.run(['bash', '-c', f'{script}\nCOMP_WORDS=(heatlite-manage --config-file {ROOT}/setup.c)\n'
                                         'COMP_CWORD=2\n_heatlite_manage\nprintf "%s" "${COMPREPLY[@]}"'],
                          capture_output=True, text=True, timeout=60)
    assert done.stdout == f'{ROOT}/setup.cfg'


@pytest.mark.parametrize('words, found', [
    (['heatlite-lint', '--no'], ['--notes']),
    (['heatlite-lint', '--format', 's'], ['sarif', 'short']),
    (['heatlite-lint', 'setup.c'], ['setup.cfg']),
    (['heatlite-lint', '-e', 'setup.c'], ['setup.cfg']),
    (['heatlite-language-server', '--t'], ['--tcp']),
    (['heatlite-test', '--j'], ['--junit'])], ids=lambda words: ' '.join(words))
def test_programs_of_authors(script, words, found):
    function = f'_{words[0].replace("-", "_")}'
    done = subprocess.run(['bash', '-c', f'{script}\nCOMP_WORDS=({" ".join(words)})\nCOMP_CWORD={len(words) - 1}\n'
                                         f'{function}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'],
                          cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stderr == '' and [word for word in done.stdout.split('\n') if word] == found
