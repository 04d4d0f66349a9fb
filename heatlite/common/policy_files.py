"""The files with access rules: [oslo_policy] policy_file, and those in the folders of policy_dirs.

A file is read as a whole or not at all: half of it would let everybody do what the other half reserves.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from oslo_config import cfg

from heatlite.common import exception
from heatlite.common.i18n import _

Rule = str | Sequence[str | Sequence[str]]
DEFAULT_FILE, FORMER_FILE = 'policy.yaml', 'policy.json'
Stamp = tuple[int, int, int]            # of the state of a file: time of its change, size, inode


def paths(conf: cfg.ConfigOpts) -> list[Path]:
    """Return the files that exist, in the order in which their rules replace those of former ones. Raises Error for a
    folder that cannot be read.

    Without the default file, the one that was the default before is read, as oslo.policy did until its release 5: it
    may reserve requests for some. JSON is read as YAML.
    """
    named = conf.find_file(conf.oslo_policy.policy_file)
    if named is None and conf.oslo_policy.policy_file == DEFAULT_FILE:
        named = conf.find_file(FORMER_FILE)
    folders = [Path(conf.find_file(folder) or folder) for folder in conf.oslo_policy.policy_dirs]
    return [*([Path(named)] if named else []), *(file for folder in folders for file in _files_in(folder))]


def _files_in(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith('.'))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(folder, error) from None


def stamps(conf: cfg.ConfigOpts) -> dict[Path, Stamp]:
    """Return the files that exist with their states. Raises Error for a file or a folder that cannot be read."""
    found = {}
    for path in paths(conf):
        try:
            state = path.stat()
        except FileNotFoundError:       # removed meanwhile
            continue
        except OSError as error:
            raise _unreadable(path, error) from None
        found[path] = (state.st_mtime_ns, state.st_size, state.st_ino)
    return found


def read(path: Path) -> str:
    """Return the text of a file whose rules can be read. Raises Error, naming the file and, where there is one, the
    line."""
    try:
        text = path.read_text(encoding='utf-8')
    except OSError as error:
        raise _unreadable(path, error) from None
    except ValueError:
        raise exception.Error(_('%s: is not text in UTF-8') % path) from None
    parse(path, text)
    return text


def _unreadable(path: Path, error: OSError) -> exception.Error:
    return exception.Error(_('%(path)s: %(reason)s') % {
        'path': path, 'reason': error.strerror or os.strerror(error.errno or 0)})


def parse(path: Path, text: str) -> Mapping[str, Rule]:
    """Return the rules of a text: {name: rule}. Raises Error as `read`."""
    try:
        found = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = '' if error.problem_mark is None else f':{error.problem_mark.line + 1}'
        raise exception.Error(_('%(path)s%(line)s: is not YAML: %(reason)s') % {
            'path': path, 'line': line, 'reason': ' '.join(str(error.problem or error.context).split())}) from None
    except (yaml.YAMLError, ValueError) as error:
        raise exception.Error(_('%(path)s: is not YAML: %(reason)s') % {
            'path': path, 'reason': ' '.join(str(error).split())}) from None
    if found is None:                   # comments only
        return {}
    if not isinstance(found, dict):
        raise exception.Error(_('%(path)s:1: is a %(kind)s (wanted lines NAME: "RULE")') % {
            'path': path, 'kind': type(found).__name__})
    for name, rule in found.items():
        if not isinstance(name, str) or not _is_rule(rule):
            raise exception.Error(_('%(path)s:%(line)d: %(name)s has no rule (wanted NAME: "RULE")') % {
                'path': path, 'line': _line_of(text, name), 'name': name})
    return found


def _is_rule(value: object) -> bool:
    """Whether a value is a text, or a list of texts and of lists of texts. The library lets everybody pass where there
    is nothing."""
    return isinstance(value, str) or (isinstance(value, list) and all(
        isinstance(each, str) or (isinstance(each, list) and all(isinstance(one, str) for one in each))
        for each in value))


def _line_of(text: str, name: object) -> int:
    """Return the line of a name in a mapping, from 1."""
    node = yaml.compose(text, yaml.SafeLoader)
    lines: list[int] = [key.start_mark.line for key, _value in node.value if key.value == str(name)]
    return (lines or [0])[0] + 1
