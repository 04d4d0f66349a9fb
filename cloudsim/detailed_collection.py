"""Collections whose list is short, and has the whole things at `/detail`."""

from __future__ import annotations

from typing import Any, ClassVar

from cloudsim import listing
from cloudsim.collection import Collection
from cloudsim.messages import Call
from cloudsim.store import Thing


class DetailedCollection(Collection):
    """`SHORT`: the fields of a thing in the short list."""

    SHORT: ClassVar[tuple[str, ...]] = ('id', 'name')

    def routes(self) -> list[Any]:
        return [*super().routes(), ('GET', f'{self.kind.path}/detail', self.do_details)]

    def do_list(self, call: Call, *parents: str) -> Any:
        return 200, listing.page(call, self, self.candidates(call, None), self.brief)

    def do_details(self, call: Call) -> Any:
        return 200, listing.page(call, self, self.candidates(call, None))

    def brief(self, call: Call, thing: Thing) -> dict[str, Any]:
        shown = self.view(call, thing)
        return {name: shown[name] for name in self.SHORT if name in shown}
