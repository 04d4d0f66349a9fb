"""`pytest --heatlite-plugin PATH`: each check of each type is a test, and the table stands at the end.

Loaded by every pytest of an environment heatlite is installed in: nothing is imported before the option is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from heatlite.testing import crash

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr, TracebackStyle

    from heatlite.engine.types.plugin_loading import LoadFailure
    from heatlite.testing.clouds import Cloud
    from heatlite.testing.kit import Kit
    from heatlite.testing.report import CheckResult

RESULTS: pytest.StashKey[list[CheckResult]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup('heatlite', 'conformance of resource types')
    group.addoption('--heatlite-plugin', action='append', default=[], metavar='PATH', type=Path,
                    help='check the resource types of this module, file of described types, or folder')
    group.addoption('--heatlite-crash', default=crash.ALL, metavar='all|N|none', type=crash.every,
                    help='of the points at which an engine may be killed, try all (default), every N-th or none')
    group.addoption('--heatlite-examples', metavar='FILE', type=Path,
                    help='how to make the types; default: NAME.conformance.yaml beside the module')


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = []
    if config.option.heatlite_plugin and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []                    # other tests were not asked for


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    for path in config.option.heatlite_plugin:
        plugin = PluginCollector.from_parent(session, name=str(path), path=config.invocation_params.dir / path,
                                             nodeid=str(path))
        found = list(plugin.collect())
        config.hook.pytest_collectreport(report=pytest.CollectReport(plugin.nodeid, 'passed', None, [*found]))
        items += found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash[RESULTS]
    if not results:
        return
    from heatlite.testing import kit, report
    terminalreporter.section('heatlite: conformance of resource types')
    for line in report.table(results, kit.CHECKS):
        terminalreporter.write_line(line)


class PluginCollector(pytest.Collector):
    """One PATH. Its clouds run while its types are checked."""

    kit: Kit

    def collect(self) -> Iterator[pytest.Item]:
        from heatlite.testing import kit
        try:
            self.kit = kit.of(self.path, self.config.option.heatlite_examples)
        except FileNotFoundError:
            raise pytest.UsageError(f'--heatlite-plugin: there is no {self.path}') from None
        except Exception as error:
            raise pytest.UsageError(f'--heatlite-plugin: {error}') from None
        self._stack = ExitStack()
        self._cloud_of: Callable[[str], Cloud | None] | None = None
        for failure in self.kit.failures:
            yield BrokenItem.from_parent(self, name=f'{failure.name}::loading', failure=failure)
        for name in self.kit.types:
            yield from Type.from_parent(self, name=name).collect()

    def cloud_of(self, type_name: str) -> Cloud | None:
        if self._cloud_of is None:
            self._cloud_of = self._stack.enter_context(self.kit.clouds())
            self.session.config.add_cleanup(self._stack.close)
        return self._cloud_of(type_name)


class Type(pytest.Collector):
    """All checks of a type share one life, which begins with the first of them."""

    _results: dict[str, CheckResult] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        from heatlite.testing import kit
        for check in kit.CHECKS:
            yield CheckItem.from_parent(self, name=check)

    def result(self, check: str) -> CheckResult:
        if self._results is None:
            plugin = self.parent
            assert isinstance(plugin, PluginCollector)
            found = list(plugin.kit.check(self.name, plugin.cloud_of(self.name), self.config.option.heatlite_crash))
            self._results = {each.check: each for each in found}
            self.config.stash[RESULTS].extend(found)
        return self._results[check]


class CheckItem(pytest.Item):
    def runtest(self) -> None:
        from heatlite.testing import report
        parent = self.parent
        assert isinstance(parent, Type)
        result = parent.result(self.name)
        match result.outcome:
            case report.FAILED:
                raise CheckFailed(str(result))
            case report.NOT_TRIED:
                pytest.skip(f'not tried: {result.reason}')
            case report.WARNED:
                self.warn(pytest.PytestWarning(str(result)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException],
                     style: TracebackStyle | None = None) -> str | TerminalRepr:
        return str(excinfo.value) if isinstance(excinfo.value, CheckFailed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f'{self.parent.name if self.parent else ""}, {self.name}'


class BrokenItem(pytest.Item):
    """A module, or a type in it, that cannot be loaded."""

    def __init__(self, failure: LoadFailure, *, name: str, parent: pytest.Collector) -> None:
        super().__init__(name, parent=parent)
        self._failure = failure

    def runtest(self) -> None:
        from heatlite.testing import kit, report
        failure = self._failure
        self.config.stash[RESULTS].extend(
            report.CheckResult(name, kit.LOADING, report.FAILED, failure.error, failure.file)
            for name in failure.types or (failure.name,))
        raise CheckFailed(str(failure))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class CheckFailed(Exception):
    """What a check has to say; shown without a traceback."""
