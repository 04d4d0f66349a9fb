"""When something asked for is done: what a status means, and when something deleted is gone."""

from __future__ import annotations

from dataclasses import dataclass

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest.templating import pick
from heatlite.engine.resources.yaml_lines import Written

WAIT_KEYS = frozenset({'field', 'busy', 'ready', 'error', 'reason', 'after'})
GONE_KEYS = frozenset({'field', 'values', 'error', 'reason', 'busy'})
OTHER = 'other'                             # every status that is not named


class NotYet(Exception):
    """Raised by hooks: ask again at the next turn."""


@dataclass(frozen=True)
class DescribedWait:
    """`busy` or `ready` may be 'other'. `reason`: the field that says why something failed."""

    field: str
    ready: tuple[str, ...] | str
    busy: tuple[str, ...] | str = ()
    error: tuple[str, ...] = ()
    reason: str = ''

    def is_over(self, found: object) -> bool:
        """Raises ResourceInError, or ResourceUnknownStatus for a status that is not described."""
        status = pick(found, self.field)
        seen = status if isinstance(status, list) else [status]
        failed = [each for each in seen if each in self.error]
        if failed:
            raise exception.ResourceInError(
                resource_status=failed[0], status_reason=pick(found, self.reason) or _('Unknown')
                if self.reason else _('Unknown'))
        left = [each for each in seen if not _has(self.ready, each)]
        if not left or (self.ready == OTHER and not any(_has(self.busy, each) for each in seen)):
            return True
        if self.busy == OTHER or self.ready == OTHER or all(_has(self.busy, each) for each in left):
            return False
        raise exception.ResourceUnknownStatus(resource_status=left[0], result=_('Resource is not built'),
                                              status_reason=self._known())

    def _known(self) -> str:
        """What the description says of statuses, for its author, who has missed one."""
        return _('%(field)s is none of the described statuses: %(statuses)s') % {
            'field': self.field, 'statuses': '; '.join(
                f'{word} {", ".join(map(str, statuses)) if statuses != OTHER else statuses}'
                for word, statuses in (('busy', self.busy), ('ready', self.ready), ('error', self.error)) if statuses)}


def _has(statuses: tuple[str, ...] | str, status: object) -> bool:
    return statuses != OTHER and status in statuses


@dataclass(frozen=True)
class Gone:
    """When something deleted is gone, beyond 404: a field with one of `values`. `error`: it will never be. `busy`: it
    is being deleted, and the service refuses another request to delete it."""

    field: str | None = None
    values: tuple[str, ...] = ()
    error: tuple[str, ...] = ()
    reason: str = ''
    busy: tuple[str, ...] = ()

    def is_over(self, found: object) -> bool:
        """`found`: the thing as it still is. Raises ResourceInError."""
        if self.field is None:
            return False
        status = pick(found, self.field)
        if status in self.error:
            raise exception.ResourceInError(
                resource_status=status,
                status_reason=(pick(found, self.reason) if self.reason else None) or _('Unknown'))
        return status in self.values

    def is_under_way(self, found: object) -> bool:
        return self.field is not None and pick(found, self.field) in self.busy


def waits(written: Written | None) -> dict[str, DescribedWait]:
    """By action, from one wait with `after`, or a map of them by action. Raises ValueError."""
    if not written:
        return {}
    if 'field' in written:
        return {action: _wait(written) for action in written.get('after', ['create'])}
    return {action: _wait(each) for action, each in written.items()}


def _wait(written: Written) -> DescribedWait:
    unknown = sorted(set(written) - WAIT_KEYS)
    if unknown:
        raise ValueError(f'{", ".join(unknown)}: not known in a wait')
    def named(key: str) -> tuple[str, ...] | str:
        value = written.get(key, ())
        return OTHER if value == OTHER else tuple(value)
    return DescribedWait(written['field'], named('ready'), named('busy'), tuple(written.get('error', ())),
                         written.get('reason', ''))


def gone(written: list[int] | Written | None) -> Gone | None:
    """None: the answer to the deletion is the end of it. `[404]`, or a map."""
    if not written:
        return None
    if isinstance(written, list):
        return Gone()
    unknown = sorted(set(written) - GONE_KEYS)
    if unknown:
        raise ValueError(f'{", ".join(unknown)}: not known here')
    return Gone(written.get('field'), tuple(written.get('values', ())), tuple(written.get('error', ())),
                written.get('reason', ''), tuple(written.get('busy', ())))
