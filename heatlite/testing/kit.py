"""All checks over all types of a plug-in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from heatlite.engine.resource import Resource
from heatlite.engine.types import contract_names, plugin_loading, registry
from heatlite.testing import changes, clouds, lives, modules, schemas
from heatlite.testing import examples as example_files
from heatlite.testing.clouds import Cloud
from heatlite.testing.examples import Example, Examples
from heatlite.testing.report import FAILED, PASSED, CheckResult

LOADING = 'loading'
LIFE = (LOADING, *schemas.CHECKS, *lives.CHECKS)
CHECKS = (*LIFE, *changes.CHECKS)


@dataclass(frozen=True)
class Kit:
    """One plug-in, with its examples."""

    plugin: modules.LoadedPlugin
    groups: tuple[Examples, ...]            # each with a cloud of its own

    @property
    def types(self) -> Mapping[str, type[Resource]]:
        """Those that are classes; a name for another type or template has no life of its own."""
        return {name: kind for name, kind in self.plugin.found.types.items() if isinstance(kind, type)}

    @property
    def failures(self) -> list[plugin_loading.LoadFailure]:
        """What could not be loaded; that there is no type at all, too."""
        if not self.types and not self.plugin.found.failures:
            return [plugin_loading.LoadFailure(self.plugin.path.name, str(self.plugin.path), (),
                                               '; '.join(['it defines no types', *self._misspelt_mappings()]))]
        return self.plugin.found.failures

    def _misspelt_mappings(self) -> Iterator[str]:
        for name in self.plugin.found.modules:      # files of described types are no modules
            module = sys.modules.get(name.replace('heat.', 'heatlite.', 1))
            for given, meant in contract_names.misspelt_mappings(vars(module) if module else ()):
                yield f'{given} is never called: did you mean {meant}?'

    def register(self, types: registry.TypeRegistry) -> None:
        """As an engine does when it loads the plug-in."""
        for name, value in self.plugin.found.types.items():
            types.register(name, value)
        for name, check in self.plugin.found.constraints.items():
            types.register_constraint(name, check)

    def example(self, type_name: str) -> tuple[Examples, Example] | None:
        return next(((group, group.types[type_name]) for group in self.groups if type_name in group.types), None)

    def run(self, crash_every: int = 1) -> Iterator[CheckResult]:
        """Every result, type by type. `crash_every`: which of the points an engine is killed at; 0: none."""
        for failure in self.failures:
            for name in failure.types or (failure.name,):
                yield CheckResult(name, LOADING, FAILED, failure.error, failure.file)
        with self.clouds() as cloud_of:
            for name in self.types:
                yield from self.check(name, cloud_of(name), crash_every)

    @contextmanager
    def clouds(self) -> Iterator[Callable[[str], Cloud | None]]:
        """Yield a function from the name of a type to its cloud, None without an example; each is started when first
        asked for."""
        with ExitStack() as stack:
            started: dict[int, Cloud] = {}

            def cloud_of(type_name: str) -> Cloud | None:
                found = self.example(type_name)
                if found is None:
                    return None
                group, _example = found
                if id(group) not in started:
                    started[id(group)] = stack.enter_context(clouds.of(group))
                return started[id(group)]

            yield cloud_of

    def check(self, type_name: str, cloud: Cloud | None, crash_every: int) -> Iterator[CheckResult]:
        """All checks of one type."""
        yield from self.life(type_name, cloud, crash_every)
        group, example = self.example(type_name) or (Examples(), None)
        yield from changes.run(type_name, self.types[type_name], example, cloud, self.register, crash_every,
                               group.named)

    def life(self, type_name: str, cloud: Cloud | None, crash_every: int) -> Iterator[CheckResult]:
        """Those of LIFE: all but the changes of single properties."""
        kind = self.types[type_name]
        yield CheckResult(type_name, LOADING, PASSED)
        yield from schemas.run(type_name, kind)
        found = self.example(type_name)
        yield from lives.run(type_name, kind, found[1] if found else None, cloud, self.register, crash_every)


def of(path: Path, examples: Path | None = None) -> Kit:
    """Return the plug-in at `path`. Raises FileNotFoundError, ExamplesError."""
    plugin = modules.load(path)
    if examples is not None:
        files = [examples]
    elif path.is_dir() and not modules.is_package(path):
        files = sorted(path.rglob(f'*{example_files.SUFFIX}'))
    else:
        files = [example_files.beside(path.absolute())]
    return Kit(plugin, tuple(example_files.read(file) for file in files))
