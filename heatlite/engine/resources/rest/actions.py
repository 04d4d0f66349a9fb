"""Handlers that only some described types have: checks, suspend and resume."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from heatlite.engine.resources.rest.calls import CallTemplate
from heatlite.engine.resources.rest.templating import pick

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource


def check_health(self: DescribedResource) -> None:
    """Raise Error when the thing is not as `healthy` says; any error of the service means that it is not."""
    self._check_created()
    found = self.shown(fresh=True)
    self._verify_check_conditions([{'attr': name, 'expected': wanted, 'current': pick(found, name)}
                                   for name, wanted in (self.description.healthy or {}).items()])


def suspend(self: DescribedResource) -> None:
    _switch(self, self.description.suspend)


def resume(self: DescribedResource) -> None:
    _switch(self, self.description.resume)


def _switch(self: DescribedResource, templates: Iterable[CallTemplate]) -> None:
    """A service that takes whole things only gets all that it has, with what is switched."""
    for template in templates:
        call = template.fill(self.scope())
        if self.description.send == 'all':
            call = replace(call, body={**self.shown(fresh=True),
                                       **(call.body if isinstance(call.body, Mapping) else {})})
        self.send(call)
