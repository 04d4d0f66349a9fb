"""Types that do nothing, because their service is gone (docs/users/former-types.rst)."""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.engine.resources import packed, packed_types
from heatlite.engine.resources.openstack.heat import none_resource

FAMILY = packed_types.PLACEHOLDER           # of an entry of the catalogue


class Placeholder(none_resource.NoneResource):
    """Kept so that stacks which still have such a resource can be shown, updated and deleted."""

    def handle_delete(self) -> None:
        """The service that had made it is gone."""


def class_of(facts: packed.PackedFacts, members: Mapping[str, object]) -> type[Placeholder]:
    """`members`: what the facts say of the class, see `types`."""
    return type(facts['class_name'], (Placeholder,), {
        **members, '__doc__': Placeholder.__doc__, '__module__': __name__, 'properties_schema': {}})
