"""Sub-collections: tags, members, extra specs. What must be called so that they become what a property says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from heatlite.engine.resources.rest import spelling
from heatlite.engine.resources.rest.bodies import without_nulls
from heatlite.engine.resources.rest.calls import CallTemplate, DescribedCall, first_that_applies, template, templates
from heatlite.engine.resources.rest.templating import TemplatingScope
from heatlite.engine.resources.yaml_lines import Written

KEYS = frozenset({'set', 'add', 'drop', 'live', 'replace', 'batch', 'default', 'with', 'in_create',
                  'before_delete', 'null_removed'})


@dataclass(frozen=True)
class Follow:
    """One property's sub-collection.

    `set`: one call with all of it (`{value}`). `add`, `drop`: for each item that is new, or no longer wanted (`{item}`,
    of a map `{item.key}` and `{item.value}`); the first of several calls whose `when` holds. `live`: reads what is
    there (otherwise the old property tells). `replace`: take everything away, then add everything. `batch`: one call
    for all items (`{items}`). `default`: a place to use when the property is empty.
    """

    property: str
    set: tuple[CallTemplate, ...] = ()
    add: tuple[CallTemplate, ...] = ()
    drop: tuple[CallTemplate, ...] = ()
    live: CallTemplate | None = None
    replace: bool = False
    batch: bool = False
    default: str | None = None
    depends: tuple[str, ...] = ()           # `with`
    in_create: bool = False
    before_delete: bool = False
    null_removed: bool = False              # of a map: keys that are gone are set to null

    def calls(self, scope: TemplatingScope, wanted: object, before: object, read: Callable[[DescribedCall], object],
              replace: bool = False, again: bool = False) -> list[DescribedCall]:
        """`wanted` and `before`: values of the property. `read` asks the service, only if there is a `live`. `again`:
        add all items, as it is not known which of them are there."""
        found: list[DescribedCall] = []
        replace = replace or self.replace
        if not wanted and self.default is not None:
            wanted = scope.value(self.default)
        if wanted is None and before is None:
            return []                       # nothing was ever said about it
        new, old = items(wanted), items(before)
        if self.live is not None:
            old = items(read(self.live.fill(scope)))
        if self.drop and (replace or not self.set):
            found += self._each(self.drop, scope, old if replace else without(old, new))
        if self.set and (new or (old and not self.drop)):
            found += first_that_applies(self.set, scope.having(value=self._whole(wanted, before)))
        if self.add:
            found += self._each(self.add, scope, new if replace or again else without(new, old))
        return found

    def dropped(self, scope: TemplatingScope, wanted: object, before: object) -> list[DescribedCall]:
        """Calls that take away the items of `before` that are not wanted."""
        return self._each(self.drop, scope, without(items(before), items(wanted)))

    def _whole(self, wanted: object, before: object) -> object:
        """All of it, for one call."""
        value = without_nulls(wanted or ({} if isinstance(before, Mapping) else []))
        if self.null_removed and isinstance(before, Mapping):
            return {**{key: None for key in before if key not in value}, **value}
        return value

    def _each(self, choices: tuple[CallTemplate, ...], scope: TemplatingScope,
              wanted: list[object]) -> list[DescribedCall]:
        if self.batch:
            return first_that_applies(choices, scope.having(items=wanted)) if wanted else []
        return [call for item in wanted for call in first_that_applies(choices, scope.having(item=item))]


def read(name: str, written: Written) -> Follow:
    """Return a sub-collection as a description writes it. Raises ValueError."""
    spelling.refuse(written, KEYS)
    return Follow(
        name, templates(written.get('set')), templates(written.get('add')), templates(written.get('drop')),
        template(written['live']) if 'live' in written else None, bool(written.get('replace')),
        bool(written.get('batch')), written.get('default'), tuple(written.get('with', ())),
        bool(written.get('in_create')), bool(written.get('before_delete')),
        bool(written.get('null_removed')))


def items(value: object) -> list[object]:
    """Entries of a map as `{key, value}`; maps without what was not given."""
    if isinstance(value, Mapping):
        return [{'key': key, 'value': item} for key, item in value.items()]
    return [without_nulls(item) for item in value] if isinstance(value, Iterable) else []


def without(some: list[object], others: list[object]) -> list[object]:
    known = {json.dumps(item, sort_keys=True, default=str) for item in others}
    return [item for item in some if json.dumps(item, sort_keys=True, default=str) not in known]
