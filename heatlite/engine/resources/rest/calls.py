"""One request to a service as a value, and the form in which descriptions write it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from heatlite.common.document_parts import known_fields
from heatlite.engine.resources.rest.templating import TemplatingScope, fill, fill_path
from heatlite.engine.resources.yaml_lines import Written

WrittenCall: TypeAlias = str | Written        # `VERB /path`, or a map with that under `call` and other parts
VERBS = ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE')


@dataclass(frozen=True)
class DescribedCall:
    """A request. `ignore`: HTTP statuses that are as good as success; `service`: client, if not the type's own;
    `answer`: path to the part of the answer that matters."""

    verb: str
    path: str
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, object] = field(default_factory=dict)
    ignore: tuple[int, ...] = ()
    service: str | None = None
    microversion: str | None = None
    answer: str = ''

    def stored(self) -> dict[str, object]:
        """Plain JSON, to go on with after a crash."""
        fields = {name: value for name, value in dataclasses.asdict(self).items() if value not in (None, {}, (), '')}
        return {**fields, 'ignore': list(self.ignore)}

    @classmethod
    def read(cls, stored: Mapping[str, object]) -> DescribedCall:
        ignore = stored['ignore']
        return cls(**{**known_fields(cls, stored), 'ignore': tuple(ignore) if isinstance(ignore, list) else ()})


@dataclass(frozen=True)
class CallTemplate:
    """A call before its places are filled. `when`, `unless`: places; the call is made only if that one has a
    value, if the other has none."""

    verb: str
    path: str
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, object] = field(default_factory=dict)
    ignore: tuple[int, ...] = ()
    service: str | None = None
    microversion: str | None = None
    when: str | None = None
    unless: str | None = None
    answer: str = ''

    def applies(self, scope: TemplatingScope) -> bool:
        return ((self.when is None or bool(scope.value(self.when)))
                and (self.unless is None or not scope.value(self.unless)))

    def fill(self, scope: TemplatingScope) -> DescribedCall:
        return DescribedCall(self.verb, fill_path(self.path, scope), fill(self.body, scope), fill(self.headers, scope),
                             fill(self.query, scope), self.ignore, self.service, self.microversion, self.answer)


def template(written: WrittenCall) -> CallTemplate:
    """Return the template of a call. `written`: `VERB /path`, or a map with that under `call` and the other parts.

    Raises ValueError.
    """
    parts = {'call': written} if isinstance(written, str) else dict(written)
    verb, _space, path = str(parts.pop('call', '')).partition(' ')
    if verb not in VERBS or not path.startswith('/'):
        raise ValueError(f'a call is written as "VERB /path", not {written!r}')
    unknown = sorted(set(parts) - {each.name for each in dataclasses.fields(CallTemplate)})
    if unknown:
        raise ValueError(f'a call has no {", ".join(unknown)}')
    return CallTemplate(verb, path.strip(), **{**parts, 'ignore': tuple(parts.get('ignore', ()))})


def templates(written: WrittenCall | list[WrittenCall] | None) -> tuple[CallTemplate, ...]:
    """Return the templates of one call, or of a list of them."""
    if written is None:
        return ()
    return tuple(template(each) for each in (written if isinstance(written, list) else [written]))


def first_that_applies(choices: tuple[CallTemplate, ...], scope: TemplatingScope) -> list[DescribedCall]:
    """The call of the first choice whose `when` holds; nothing when there is none."""
    return next(([choice.fill(scope)] for choice in choices if choice.applies(scope)), [])
