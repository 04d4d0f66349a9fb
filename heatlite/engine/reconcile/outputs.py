"""Resolves the outputs of a stack from the references and attributes of its resources."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping

from heatlite.common import exception
from heatlite.language.definition import StackDefinition
from heatlite.language.expression import PLACEHOLDERS, Scope, requirements
from heatlite.language.outputs import OutputDefinition
from heatlite.language.unknown import is_known

LOG = logging.getLogger(__name__)


def resolve(definition: StackDefinition, scope: Scope,
            is_live: Callable[[str, str], bool] | None = None,
            keys: Collection[str] | None = None, *, shows_unknown: bool = False) -> list[dict[str, object]]:
    """Return `{output_key, description, output_value, output_error?}` of each output, in the order of the template.

    A value that cannot be computed is null with the error's text; one not known yet is null without it, or with
    `shows_unknown` as it is, with UNKNOWN in it. `live` marks outputs that use an attribute which must be read anew
    each time (`is_live(resource, attribute)`). `keys`: of the outputs that are wanted; None: all. Raises
    DatabaseUnavailable.
    """
    found = []
    for name, output in definition.outputs.items():
        if keys is not None and name not in keys:
            continue
        shown, _error = _resolved(definition, scope, name, output, shows_unknown)
        if is_live is not None and any(is_live(*read) for read in reads(output)):
            shown['live'] = True
        found.append(shown)
    return found


def _resolved(definition: StackDefinition, scope: Scope, name: str, output: OutputDefinition,
              shows_unknown: bool = False) -> tuple[dict[str, object], Exception | None]:
    """Return an output as `resolve` does, and the error of computing it."""
    shown = _unknown(name, output)
    try:
        value = output.resolve(scope)
        shown['output_value'] = value if shows_unknown or is_known(value) else None
    except exception.DatabaseUnavailable:           # not an error of the output
        raise
    except Exception as error:
        shown['output_error'] = definition.mask.text(str(error))
        return shown, error
    return shown, None


class PresentOutputs(Mapping[str, dict[str, object]]):
    """The outputs of a stack as they are now, by key; each is resolved once, when it is asked for.

    One that cannot be computed has the error itself as its `cause`, too: where a service did not answer, a caller can
    wait for it.
    """

    def __init__(self, definition: StackDefinition, scope: Scope) -> None:
        self._definition = definition
        self._scope = scope
        self._resolved: dict[str, dict[str, object]] = {}

    def __getitem__(self, key: str) -> dict[str, object]:
        if key not in self._resolved:
            shown, error = _resolved(self._definition, self._scope, key, self._definition.outputs[key])
            self._resolved[key] = shown if error is None else {**shown, 'cause': error}
        return self._resolved[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._definition.outputs)

    def __len__(self) -> int:
        return len(self._definition.outputs)


def unknown(definition: StackDefinition) -> list[dict[str, object]]:
    """Return all outputs of a stack without resources, with null values."""
    return [_unknown(name, output) for name, output in definition.outputs.items()]


def _unknown(name: str, output: OutputDefinition) -> dict[str, object]:
    return {'output_key': name, 'description': output.description, 'output_value': None}


def reads(output: OutputDefinition) -> Iterator[tuple[str, str]]:
    """Yield (resource, attribute) for each attribute that the output uses."""
    try:
        needs = list(requirements(output.expression, PLACEHOLDERS))
    except Exception:                               # resolving it reports the error
        LOG.debug('Output %s cannot be parsed', output.key)
        return
    for _path, need in needs:
        if isinstance(need.resource, str) and need.attribute:
            yield need.resource, str(need.attribute[0])
