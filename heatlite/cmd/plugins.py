"""heatlite-manage plugins, plugin new and plugin check: for operators and authors of plug-ins. Needs no database."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from heatlite.common import options
from heatlite.common.i18n import _
from heatlite.testing import crash

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

    from heatlite.engine.types.plugin_loading import PluginDefinitions

Row = tuple[str, str, str, str]
Show = Callable[[Sequence[str], Iterable[Sequence[object]]], None]
"""(name, file, types, error)"""

HEAD = ('Name', 'File', 'Types', 'Error')


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    commands.add_parser('plugins', help=_('Print every plug-in an engine would load. Exit code 1: some cannot be.'))
    plugin = commands.add_parser('plugin', help=_('For authors of plug-ins.'))
    inner = plugin.add_subparsers(dest='plugin_command', required=True)
    new = inner.add_parser('new', help=_('Write a resource type to begin with.'))
    new.add_argument('type_name', metavar='NAME', help=_('Of the type, such as Acme::Lamp.'))
    new.add_argument('--dir', metavar='DIR', type=Path, help=_('Default: a folder of the name of the module.'))
    check = inner.add_parser('check', help=_('Run the conformance kit; docs/authors/conformance.rst.'))
    check.add_argument('paths', metavar='PATH', type=Path, nargs='+', help=_('A module, or a folder of them.'))
    check.add_argument('--crash', metavar='all|N|none', default=1, type=crash.every,
                       help=_('Of the points at which an engine may be killed, try all, every N-th or none.'))
    check.add_argument('--examples', metavar='FILE', type=Path, help=_('Default: NAME.conformance.yaml beside it.'))


@contextmanager
def silence() -> Iterator[None]:
    """Disable logging in the block, since the table shows the same."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def plugins(conf: ConfigOpts, show: Show) -> int:
    """Exit code 1 when one cannot be loaded, 0 with warnings."""
    from heatlite.engine.types import registry
    with silence():
        types = registry.create(conf)
        types.load_plugins()
        rows = [*_missing_folders(conf), *_modules(types.plugins), *extensions()]
    show(HEAD, rows)
    for each in types.plugins.warnings:
        print(_('warning: %(file)s: %(text)s') % {'file': each.file, 'text': each.text})
    explained = {*types.plugins.files.values(), *(failure.file for failure in types.plugins.failures)}
    for file in types.plugins.modules.values():
        if file not in explained and not file.endswith('__init__.py'):
            print(_('note: %s defines no resource type: its function resource_mapping is missing, or names none')
                  % file)
    for folder in _folders_left_out(conf):
        print(_('note: %s is no package (it has no __init__.py): its modules are left out') % folder)
    return 1 if any(error for *_rest, error in rows) else 0


def _missing_folders(conf: ConfigOpts) -> Iterator[Row]:
    """Yield a row for each folder that the configuration names and that does not exist."""
    is_default = list(conf.plugin_dirs) == next(opt.default for opt in options.PLUGINS if opt.dest == 'plugin_dirs')
    for folder in () if is_default else conf.plugin_dirs:
        if not Path(folder).is_dir():
            yield '', folder, '', _('there is no such folder')


def _folders_left_out(conf: ConfigOpts) -> Iterator[Path]:
    """Yield the folders in those of plugin_dirs that have modules and are not packages."""
    for folder in conf.plugin_dirs:
        for each in sorted(Path(folder).glob('*/')):
            if each.name != '__pycache__' and not (each / '__init__.py').exists() and any(each.glob('*.py')):
                yield each


def _modules(found: PluginDefinitions) -> Iterator[Row]:
    defined: dict[str, list[str]] = {}
    for name, file in found.files.items():
        defined.setdefault(file, []).append(name)
    for name, file in found.modules.items():
        yield name, file, ', '.join(defined.get(file, ())), ''
    for failure in found.failures:
        yield failure.name, failure.file, ', '.join(failure.types), failure.error


def extensions() -> Iterator[Row]:
    """Yield the extensions of installed packages, of all kinds."""
    from heatlite.engine.compat import extensions as installed
    from heatlite.engine.types import template_extensions
    for namespace, point, failure in installed.check():
        error = failure or template_extensions.problem(namespace, point)
        yield (point.name, f'{namespace}: {point.value}', '',
               '' if error is None else f'{type(error).__name__}: {error}')


def plugin(conf: ConfigOpts, show: Show) -> int:
    return new(conf.command) if conf.command.plugin_command == 'new' else check(conf.command)


def new(command: argparse.Namespace) -> int:
    from heatlite.testing import skeletons
    try:
        for file in skeletons.write(command.type_name, command.dir):
            print(file)
    except skeletons.SkeletonError as error:
        raise SystemExit(str(error)) from None
    return 0


def check(command: argparse.Namespace) -> int:
    """Exit code 1 when something failed."""
    from heatlite.testing import examples, kit, report
    results: list[report.CheckResult] = []
    for path in command.paths:
        try:
            with silence():
                results += kit.of(path, command.examples).run(command.crash)
        except FileNotFoundError:
            raise SystemExit(_('There is no %s') % path) from None
        except examples.ExamplesError as error:
            raise SystemExit(str(error)) from None
    print('\n'.join(report.table(results, kit.CHECKS)))
    return 1 if any(each.outcome == report.FAILED for each in results) else 0


COMMANDS: Mapping[str, Callable[[ConfigOpts, Show], int]] = {'plugins': plugins, 'plugin': plugin}
