"""The pages for operators quote messages, options and commands that the product has."""

from __future__ import annotations

import ast
import functools
import re

import pytest

from heatlite.cmd import manage
from heatlite.common import exception
from tests.architecture import source

FOLDER = source.ROOT / 'docs/operators'
PAGES = ('troubleshooting.rst', 'security.rst')
MESSAGE = re.compile(r'^``(.+)``$', re.MULTILINE)              # alone on its line
STATUS = re.compile(r'^``(.+)``\n    (\d{3})\b', re.MULTILINE)   # a message, and the status of the answer
OPTION = re.compile(r'``(?:\[(\w+)\]\s+)?([a-z]+(?:_[a-z0-9]+)+)(?: = [^`]*)?``')
# In the text, and in a block of commands.
COMMAND = re.compile(r'(?:``|^ {4,}.*?\b)heatlite-manage (?:--(?:config-file|set) \S+ )*([a-z][\w-]+)', re.MULTILINE)
ALL_PAGES = sorted(path.name for path in FOLDER.glob('*.rst'))
PLACE = re.compile(r'%(?:\(\w+\))?[-+ #0]*\d*(?:\.\d+)?[sdrfi]|\x00')
# Names that look like options.
NOT_OPTIONS = {'heat_stack_user', 'heatlite_rpc_seconds', 'heatlite_rpc_waiting_for_slot', 'get_file'}


def literals(tree):
    """Texts of a module; of an f-string with NUL for what is filled in."""
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in node.values)
            yield ''.join(part.value if isinstance(part, ast.Constant) else '\x00' for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.value


@functools.cache
def patterns():
    """For each text of the product of three words or more, what it looks like when it is filled in."""
    found = set()
    for path in (source.ROOT / 'heatlite').rglob('*.py'):
        found.update(text for text in literals(ast.parse(path.read_text())) if len(text.split()) > 1)
    return [filled(text) for text in found if any(len(part) > 3 for part in PLACE.split(text))]


def filled(text):
    """The texts that a format can become."""
    return re.compile('.+'.join(map(re.escape, PLACE.split(text))), re.DOTALL)


def is_said(message):
    return any(pattern.fullmatch(message) for pattern in patterns())


def quoted():
    return [(page, message) for page in PAGES for message in MESSAGE.findall((FOLDER / page).read_text())]


def test_the_search_finds_what_it_should():
    assert is_said('Work waits for the database: gone') and is_said('Stack web [1] was given up: it ends engines')
    assert not is_said('Work waits for nothing in particular')
    assert not is_said('Stack web [1] was left alone: it ends engines')


@pytest.mark.parametrize('page, message', quoted())
def test_a_quoted_message_is_one_of_the_product(page, message):
    assert is_said(message)


def test_statuses_are_those_of_the_errors():
    wrong, checked = [], 0
    for message, status in STATUS.findall((FOLDER / 'troubleshooting.rst').read_text()):
        for kind in vars(exception).values():
            if (isinstance(kind, type) and issubclass(kind, exception.HeatException)
                    and len(PLACE.sub('', kind.msg_fmt)) > 10 and filled(kind.msg_fmt).fullmatch(message)):
                checked += 1
                wrong += [(message, status, kind.__name__)] if kind.http_code != int(status) else []
    assert wrong == [] and checked > 5


@pytest.mark.parametrize('page', PAGES)
def test_options_exist(page):
    sample = (source.ROOT / 'etc/heatlite/heatlite.conf.sample').read_text()
    known, group = set(), ''
    for line in sample.splitlines():
        if line.startswith('['):
            group = line.strip('[]')
        elif found := re.match(r'#?([a-z]\w*) =', line):
            known |= {(group, found[1]), ('', found[1])}
    text = re.sub(r'\s+', ' ', (FOLDER / page).read_text())
    assert [(group, name) for group, name in OPTION.findall(text)
            if (group, name) not in known and name not in NOT_OPTIONS] == []


@pytest.mark.parametrize('page', ALL_PAGES)
def test_commands_exist(page, capsys):
    for command in set(COMMAND.findall((FOLDER / page).read_text())):
        try:
            code = manage.main([command, '--help'])
        except SystemExit as ended:
            code = ended.code
        assert code in (None, 0) and f'usage: heatlite-manage {command}' in capsys.readouterr().out, command
