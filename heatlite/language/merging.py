"""Merges the environment files that a request names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.limits import Limits
from heatlite.common.template_format import loads
from heatlite.language import environment as environments
from heatlite.language.environment import DEFAULTS, PARAMETERS, STRATEGIES
from heatlite.language.expression import copied

OVERWRITE, MERGE, DEEP_MERGE = WORDS = ('overwrite', 'merge', 'deep_merge')


def merge_files(names: Sequence[str], files: Mapping[str, str], parameters: Mapping[str, object],
                kinds: Mapping[str, str], limits: Limits | None = None) -> dict[str, object]:
    """Merges the sections of the named files, in order, starting from the request's `parameters`.

    `kinds`: kind of every parameter that a template of the request defines (`ParameterSchema.kind`). Raises
    HTTPBadRequest for invalid files, and the errors of merge strategies.
    """
    merged = environments.with_parameters({}, parameters)
    remembered: dict[str, str] = {}
    for file in names:
        content = _read(file, files, limits or Limits())
        strategies = content.pop(STRATEGIES, {})
        for section, value in content.items():
            if section in (PARAMETERS, DEFAULTS):
                values = _Values(merged[section], kinds, strategies, remembered, file)
                merged[section] = values.merged_with(value)
            elif isinstance(value, list):
                merged[section] = [*merged[section], *value]
            else:
                merged[section] = {**merged[section], **value}
    return merged


def _read(file: str, files: Mapping[str, str], limits: Limits) -> dict[str, Any]:
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
        for name, value in new.items():
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
                if isinstance(old, list) and isinstance(new, list):
                    return [*old, *new]
                if isinstance(old, str) and isinstance(new, str):
                    return f'{old},{new}'
                return [*_items(old), *_items(new)]
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
    return value if isinstance(value, list) else str(value).split(',') if value != '' else ()


def _merged_maps(old: Mapping[str, object], new: Mapping[str, object], *, deep: bool) -> dict[str, object]:
    result = dict(old)
    for key, value in new.items():
        if value is None:
            continue
        there = result.get(key)
        if not deep or there is None:
            result[key] = copied(value)
        elif isinstance(there, Mapping) and isinstance(value, Mapping):
            result[key] = _merged_maps(there, value, deep=True)
        elif isinstance(there, list) and isinstance(value, list):
            result[key] = [*there, *value]
        elif isinstance(there, str) and isinstance(value, str):
            result[key] = there + value
        else:
            result[key] = copied(value)
    return result
