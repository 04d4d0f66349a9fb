"""The help of all programs: their own options first, those of the libraries only with `--help-all`.

oslo.config sorts all options into one list of 60 to 100 lines. This option replaces how the help is formatted; parsing
stays as it is.
"""

from __future__ import annotations

import argparse
import copy
import functools
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_config import cfg

from heatlite.common import settings
from heatlite.common.i18n import _

LONGEST = 100                   # columns
# Options that all programs share -> what they mean, in one line; in the order of the help.
SHARED: Mapping[str, str] = {
    'config_file': _('A file with options; may be repeated. Default: heatlite.conf and PROGRAM.conf in ~/.heatlite, ~, '
                     '/etc/heatlite, /etc.'),
    'config_dir': _('A folder of further files. Default: heatlite.conf.d, PROGRAM.conf.d.'),
    'set': _('Set one option, over files and environment; may be repeated.'),
    'debug': _('Log details, too.'),
    'log_file': _('Write the log to this file instead of standard error.'),
    'log_dir': _('The folder of relative names of --log-file.'),
    'version': _('Show the version.'),
    'help': _('Show this text.'),
    'help_all': _('Show all options, with those of the libraries.'),
}
# The same for a program that reads no file unless it is named.
WITHOUT_FILES: Mapping[str, str] = {
    **SHARED, 'config_file': _('A file with options; may be repeated. Default: none.'),
    'config_dir': _('A folder of further files. Default: none.'),
}
EXIT_CODE, EXIT_CODES = _('Exit code'), _('Exit code: 0, 1 with one line on standard error, 2 for wrong usage.')
INVERSE = 'The inverse of'      # how oslo.config begins the help of --noNAME


class HelpAll(cfg.BoolOpt):
    """`--help-all`. Registering it as an option of the command line also replaces what `--help` prints.

    `description`: of the program. `has_commands`: whether a command has to follow the options. `reads_files`: whether
    the program reads files that the command line does not name.
    """

    def __init__(self, description: str, has_commands: bool, reads_files: bool = True) -> None:
        super().__init__('help-all', default=False, help=SHARED['help_all'])
        self.description, self.has_commands = description, has_commands
        self.shared = SHARED if reads_files else WITHOUT_FILES

    def _add_to_cli(self, parser: Any, group: object = None) -> None:
        usage = f'{parser.prog} [OPTION...]' + (' COMMAND ...' if self.has_commands else '')
        parser.description = self.description or None
        # Not `parser.usage`: that would be a part of the usage of each command.
        parser.format_usage = lambda: f'usage: {usage}\n'
        parser.format_help = functools.partial(text, parser, self.shared)
        parser._check_value = _check_value
        parser.add_parser_argument(parser, '--help-all', dest='help_all', action=_ShowAll, nargs=0,
                                   const=self.shared, help=SHARED['help_all'])


class _ShowAll(argparse.Action):
    def __call__(self, parser: Any, namespace: object, values: object, option_string: str | None = None) -> None:
        parser.format_help = functools.partial(text, parser, self.const, everything=True)
        parser.print_help()
        parser.exit()


def name_commands(action: argparse.Action) -> None:
    """Let the help of commands, and of those below them, begin with what the command does and end with the exit codes;
    and their errors name the nearest command or value, and none of the names under which the program stores them.

    `action`: the commands of a parser.
    """
    if isinstance(action, argparse._SubParsersAction):
        action.metavar = 'COMMAND'
        summaries = {listed.dest: listed.help for listed in action._get_subactions()}
        for name, parser in action.choices.items():
            parser._check_value = _check_value
            parser.description = parser.description or summaries[name]
            if EXIT_CODE not in parser.description:
                parser.description = f'{parser.description} {EXIT_CODES}'
            for each in parser._actions:
                name_commands(each)
    elif action.choices and not action.option_strings:
        action.metavar = f'{{{",".join(map(str, action.choices))}}}'


def _check_value(action: argparse.Action, value: object) -> None:
    if action.choices is not None and value not in action.choices:
        listed = ([listed.dest for listed in action._get_subactions()]      # not those for scripts of Heat only
                  if isinstance(action, argparse._SubParsersAction) else action.choices)
        names = [str(choice) for choice in listed]
        raise argparse.ArgumentError(action, _("there is no '%(value)s'%(meant)s (choose from %(names)s)") % {
            'value': value, 'meant': settings.meant(str(value), names), 'names': ', '.join(names)})


def text(parser: argparse.ArgumentParser, shared: Mapping[str, str], everything: bool = False) -> str:
    """Return the help: options of the program, commands, options of all programs; with `everything` all others, too.

    `shared`: SHARED or WITHOUT_FILES.
    """
    formatter = argparse.HelpFormatter(parser.prog, max_help_position=28)
    formatter._width = min(formatter._width, LONGEST - 2)
    formatter.add_usage(parser.format_usage().removeprefix('usage: ').strip(), [], [])
    formatter.add_text(parser.description)
    actions = {action.dest: action for action in reversed(parser._actions) if action.option_strings}
    commands = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    own = [action for action in parser._actions if action.option_strings and action.dest not in libraries()
           and action.dest not in SHARED and not _is_inverse(action)]
    _section(formatter, _('options of this program'), own)
    for action in commands:
        _section(formatter, _('commands'), action._get_subactions())
    _section(formatter, _('options of all programs'), [
        _shortened(actions[name], said) for name, said in shared.items() if name in actions])
    if everything:
        _section(formatter, _('options of the libraries'), [
            action for action in parser._actions if action.option_strings and action.dest not in SHARED
            and action not in own])
    return formatter.format_help()


def _section(formatter: argparse.HelpFormatter, title: str, actions: Iterable[argparse.Action]) -> None:
    formatter.start_section(title)
    formatter.add_arguments(actions)
    formatter.end_section()


def _shortened(action: argparse.Action, said: str) -> argparse.Action:
    """With its shortest names only, and another text."""
    found = copy.copy(action)
    found.help = said
    found.option_strings = [name for name in action.option_strings if len(name) == 2] + [
        name for name in action.option_strings if len(name) > 2][:1]
    return found


def _is_inverse(action: argparse.Action) -> bool:
    return (action.help or '').startswith(INVERSE)


@functools.cache
def libraries() -> frozenset[str]:
    """Names of the options that oslo.config and oslo.log add to the command line of each program."""
    from oslo_log import log
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    return frozenset(opt.dest for opt, _group in conf._all_cli_opts()) | {'config_file', 'config_dir'}
