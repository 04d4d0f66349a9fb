"""heatlite-manage completion bash: a script with which bash completes commands, options and their values.

It is for heatlite-manage, and for the programs of authors of templates.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

COMMAND = 'completion'
PROGRAM = 'heatlite-manage'
FILES = ('FILE', 'PATH', 'DIR', 'TEMPLATE')     # metavars of options and arguments that are files or folders

SCRIPT = """\
# Completes {program} in bash; made by: {program} completion bash
{function}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} path= words= i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path ${{COMP_WORDS[i]}}" in
            {paths}) path="$path ${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$path ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
    esac
    case "$path" in
{words}
    esac
    COMPREPLY=($(compgen {files}-W "$words" -- "$word"))
}}
complete -F {function} {program}
"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(COMMAND, help=_('Print a script that completes commands and options in a shell.'),
                                 description=_('To use it: source <(heatlite-manage completion bash)'))
    parser.add_argument('shell', choices=('bash',))


def run(conf: ConfigOpts) -> int:
    from heatlite.cmd import language_server, lint, template_test
    own = conf._oparser
    assert own is not None          # the command line has been read: this is one of its commands
    print(script(PROGRAM, own), end='')
    for module in (language_server, lint, template_test):
        print(script(module.PROGRAM, module.options()), end='')
    return 0


def script(program: str, parser: argparse.ArgumentParser) -> str:
    """Return the script for the parser of a program, with all its commands."""
    found = dict(levels(parser))
    values = [line for path, level in found.items() for line in _values(path, level)]
    return SCRIPT.format(
        program=program, function=f'_{program.replace("-", "_")}', files='-f ' if _takes_files(parser) else '',
        paths='|'.join(shlex.quote(path) for path in found if path) or "''",
        values='\n'.join(f'        {line}' for line in values),
        words='\n'.join(f'        {shlex.quote(path)}) words={shlex.quote(" ".join(_words(level)))} ;;'
                        for path, level in found.items()))


def levels(parser: argparse.ArgumentParser, path: str = '') -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """(' COMMAND SUBCOMMAND', its parser) of a parser and all its commands; '' for itself."""
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from levels(inner, f'{path} {name}')


def _takes_files(parser: argparse.ArgumentParser) -> bool:
    return any(not action.option_strings and action.metavar in FILES for action in parser._actions)


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """Return what may follow: commands and values of arguments, then options."""
    names = [str(choice) for action in parser._actions if not action.option_strings and action.choices
             for choice in action.choices]
    return names + [name for action in parser._actions for name in action.option_strings if name.startswith('--')]


def _values(path: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Lines of a `case` over the path with the option before the cursor."""
    for action in parser._actions:
        if not action.option_strings or action.nargs == 0:
            continue
        pattern = '|'.join(shlex.quote(f'{path} {name}') for name in action.option_strings)
        if action.choices:
            words = ' '.join(map(str, action.choices))
            yield f'{pattern}) COMPREPLY=($(compgen -W {shlex.quote(words)} -- "$word")); return ;;'
        elif action.metavar in FILES:
            yield f'{pattern}) COMPREPLY=($(compgen -f -- "$word")); return ;;'
        else:
            yield f'{pattern}) COMPREPLY=(); return ;;'
