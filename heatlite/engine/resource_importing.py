"""What a resource type says about an object that is to be imported into a resource. Sends only reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.clients.os.collection import Fields
from heatlite.engine.resource_checking import Checking


class Importing(Checking):
    """A part of `Resource`. Types may override all of it."""

    def list_named(self, name: str | None) -> Iterable[Fields]:
        """Return the objects of this type that the service lists, those with this name if one is given; others may be
        among them. Raises NotSupported."""
        raise exception.NotSupported(feature=_('Looking for an object of type %s by its name or tag') % self.type())

    def id_of_listed(self, entry: Mapping[str, object]) -> str:
        """Return the physical id of an entry of `list_named`."""
        return str(entry['id'])

    def read_imported(self) -> object:
        """Return what the service says of the object `resource_id`. Raises EntityNotFound, and NotSupported if the
        type reads nothing, so that it cannot be known whether the object exists."""
        data = self.get_live_resource_data()
        if data is None and not self.shows_none_when_gone:
            raise self._without_import()
        if data is None:
            raise exception.EntityNotFound(entity='Resource', name=self.resource_id)
        if isinstance(data, Mapping) and 'id' in data and self.resource_id not in (str(data['id']), data.get('name')):
            raise exception.EntityNotFound(entity='Resource', name=self.resource_id)    # found by another name of it
        return data

    def _without_import(self) -> exception.NotSupported:
        """Return what `read_imported` of a type raises whose objects cannot be imported."""
        return exception.NotSupported(feature=_('The import of resources of type %s') % self.type())

    def live_when_imported(self, data: object) -> dict[str, object]:
        """Return the properties that the object has, as far as its service reports them. `data`: from `read_imported`.
        """
        return self.parse_live_resource_data(self.properties, data)

    def data_when_imported(self, data: object) -> Mapping[str, str]:
        """Return the resource data that the creation of the object would have stored and an update or a deletion needs,
        as far as services tell it, such as objects that were made with it. `data`: from `read_imported`."""
        return {}
