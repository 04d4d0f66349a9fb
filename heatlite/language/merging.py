"""Merges the environment files that a request names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.json_values import loads
from heatlite.common.limits import USUAL, Limits, exceeded
from heatlite.language import document as documents
from heatlite.language import environment as environments
from heatlite.language.environment import DEFAULTS, PARAMETERS, STRATEGIES
from heatlite.language.expression import copied

Sections: TypeAlias = dict[str, Any]        # of an environment
OVERWRITE, MERGE, DEEP_MERGE = WORDS = ('overwrite', 'merge', 'deep_merge')
ITEMS_A_STEP: Final = 100               # of a list or map that are copied in one step of `turns`


def merge_files(names: Sequence[str], files: Mapping[str, str], parameters: Mapping[str, object],
                kinds: Mapping[str, str], limits: Limits | None = None) -> dict[str, object]:
    """Merge the sections of the named files, in order, starting from the request's `parameters`.

    `kinds`: kind of every parameter that a template of the request defines (`ParameterSchema.kind`). A file may be
    named more than once. Raises HTTPBadRequest for invalid files, the errors of merge strategies, and
    RequestLimitExceeded if the files together, each counted as often as it is named, have more values than one may
    have, which limits the work, or if the result has.
    """
    bounds = limits or USUAL
    merged = environments.with_parameters({}, parameters)
    remembered: dict[str, str] = {}
    contents: dict[str, tuple[Sections, int]] = {}      # file -> sections, their size
    total = 0
    for file in turns.paced(names):
        if file not in contents:
            found = _read(file, files, bounds)
            contents[file] = found, documents.measure(found, bounds)
        content, size = contents[file]
        total += size
        if total > bounds.max_expansion:
            raise exceeded(_('The environment files together expand further'), bounds.max_expansion,
                           'max_template_expansion')
        _merge(merged, content, kinds, remembered, file)
    return documents.check_size(merged, bounds)     # values of JSON have more values when they are merged than as texts


def _merge(merged: Sections, content: Sections, kinds: Mapping[str, str], remembered: dict[str, str],
           file: str) -> None:
    """Merge the sections of one file into those of `merged`, which are changed.

    Source: Heat's merge_map. Of the registry, whole entries replace each other, and null in a later file is ignored.
    """
    strategies = content.get(STRATEGIES, {})
    for section, value in content.items():
        if section in (PARAMETERS, DEFAULTS):
            values = _Values(merged[section], kinds, strategies, remembered, file)
            merged[section] = values.merged_with(value)
        elif section == STRATEGIES:
            continue
        elif isinstance(value, list):
            merged[section].extend(value)
        else:
            first = not merged[section]
            merged[section].update({key: entry for key, entry in value.items() if first or entry is not None})


def _read(file: str, files: Mapping[str, str], limits: Limits) -> Sections:
    if file not in files:
        raise exception.HTTPBadRequest(
            _('Environment not in valid format: the environment file "%s" is not among the files') % file)
    try:
        return environments.read(files[file], limits)
    except environments.EnvironmentError_ as error:
        raise exception.HTTPBadRequest(
            _('Environment not in valid format: %(error)s (file %(file)s)') % {'error': error, 'file': file}) from None


class _Values:
    """One section of values into which one file is merged."""

    def __init__(self, old: dict[str, object], kinds: Mapping[str, str], strategies: Mapping[str, object],
                 remembered: dict[str, str], file: str) -> None:
        self.old, self.kinds, self.strategies = old, kinds, strategies
        self.remembered, self.file = remembered, file
        default = strategies.get('default')
        self.default = default if default in WORDS else OVERWRITE

    def merged_with(self, new: Mapping[str, object]) -> dict[str, object]:
        first = not self.old
        result = dict(self.old)
        turns.spend(len(result) // ITEMS_A_STEP)
        for name, value in turns.paced(new.items()):
            strategy = self._strategy(name)
            if value is None or (name not in self.kinds and not first):
                continue
            result[name] = (copied(value) if strategy == OVERWRITE or result.get(name) is None
                            else self._combined(name, result[name], value, strategy))
        return result

    def _strategy(self, name: str) -> str:
        explicit = self.strategies.get(name)
        if explicit is not None and explicit not in WORDS:
            explicit = self.default
        known = self.remembered.get(name)
        if explicit is not None and known is not None and explicit != known:
            raise exception.ConflictingMergeStrategyForParam(strategy=explicit, param=name, env_file=self.file)
        strategy: str = explicit or known or self.default
        self.remembered[name] = strategy
        return strategy

    def _combined(self, name: str, old: object, new: object, strategy: str) -> object:
        match self.kinds.get(name):
            case 'string':
                return str(old) + str(new)
            case 'list':
                if old == '' or new == '':
                    return copied(new if old == '' else old)
                if isinstance(old, str) and isinstance(new, str):
                    return f'{old},{new}'
                return _joined(_items(old), _items(new))
            case 'map':
                return _merged_maps(self._map(name, old), self._map(name, new), deep=strategy == DEEP_MERGE)
        raise exception.InvalidMergeStrategyForParam(strategy=strategy, param=name)

    @staticmethod
    def _map(name: str, value: object) -> Mapping[str, object]:
        if isinstance(value, str):
            try:
                value = loads(value) if value else {}
            except (ValueError, RecursionError):
                value = None
        if not isinstance(value, Mapping):
            raise exception.HTTPBadRequest(_('The values of parameter "%s" cannot be merged: not a map') % name)
        return value


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else str(value).split(',')


def _joined(old: Sequence[object], new: Sequence[object]) -> list[object]:
    turns.spend((len(old) + len(new)) // ITEMS_A_STEP)
    return [*old, *new]


def _merged_maps(old: Mapping[str, object], new: Mapping[str, object], *, deep: bool) -> dict[str, object]:
    result = dict(old)
    turns.spend(len(result) // ITEMS_A_STEP)
    for key, value in turns.paced(new.items()):
        if value is None:
            continue
        there = result.get(key)
        if not deep or there is None:
            result[key] = copied(value)
        elif isinstance(there, Mapping) and isinstance(value, Mapping):
            result[key] = _merged_maps(there, value, deep=True)
        elif isinstance(there, list) and isinstance(value, list):
            result[key] = _joined(there, value)
        elif isinstance(there, str) and isinstance(value, str):
            result[key] = there + value
        else:
            result[key] = copied(value)
    return result
