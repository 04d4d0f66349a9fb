"""How many resources may fail in one traversal while the others go on."""

from __future__ import annotations

from heatlite.planning.states import Action, ResourceState, Status

APPLIED = frozenset({Action.CREATE, Action.UPDATE})


class Tolerance:
    """Counts the resources that have failed under one template. With 0 the first failure ends the action.

    The count needs no storage: a row that failed under the template of the request says so itself.
    """

    def __init__(self, most: int, template_id: str) -> None:
        """`most`: resources that may fail; `template_id`: of the request, a repeated request has another one."""
        self._most = most
        self._template_id = template_id
        self._failed: set[str] = set()

    @property
    def holds(self) -> bool:
        """Whether no more have failed than may fail."""
        return len(self._failed) <= self._most

    def take(self, name: str) -> bool:
        """Count the failure of a resource. Returns whether the others go on."""
        self._failed.add(name)
        return self.holds and self._most > 0

    def recall(self, row: ResourceState) -> bool:
        """Count a resource if it had failed when the traversal was interrupted. Returns whether it had."""
        is_of_request = row.action in APPLIED and row.template_id == self._template_id
        has_failed = bool(self._most) and row.status is Status.FAILED and is_of_request
        if has_failed:
            self._failed.add(row.name)
        return has_failed

    def has_failed(self, row: ResourceState) -> bool:
        """Whether the resource has failed in this request, so that it is not begun again."""
        return row.status is Status.FAILED and row.name in self._failed
