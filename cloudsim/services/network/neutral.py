"""What all Neutron collections do: create many at once, count revisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cloudsim.collection import Collection
from cloudsim.messages import Call, Problem
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.network import NetworkService


class NeutronCollection(Collection):
    service: NetworkService

    def do_create(self, call: Call, *parents: str) -> Any:
        many = call.json.get(self.kind.collection_key) if isinstance(call.json, dict) else None
        if not isinstance(many, list):
            return super().do_create(call, *parents)
        self.permit(call, 'C')
        made: list[Thing] = []
        try:
            for given in many:
                made.append(self.make(call, given, self.parent(call, parents)))
        except Problem:             # all or none
            for thing in reversed(made):
                self.drop(thing)
            raise
        return 201, {self.kind.collection_key: [self.view(call, thing) for thing in made]}

    def amend(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        super().amend(call, thing, changes)
        if 'revision_number' in thing.data:
            thing.data['revision_number'] += 1

    def system_make(self, given: dict[str, Any], owner: str | None = None, id: str | None = None) -> Thing:
        """A thing that the service makes for itself, or for `owner`."""
        call = self.cloud.nobody(self.service)
        call.project_id = owner
        return self.make(call, given, id=id)
