"""What others read of a resource, as plug-ins pass it on: `heat.engine.node_data`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, Required, Self, TypedDict

from heatlite.common import exception


class NodeFacts(TypedDict, total=False):
    """The same as a map."""

    id: object
    name: Required[str]
    uuid: object
    reference_id: object
    attrs: dict[object, object]
    action: Required[str]
    status: Required[str]


class Readable(Protocol):
    """The part of a resource that this is made of."""

    name: str
    action: str
    status: str

    @property
    def id(self) -> object: ...

    @property
    def uuid(self) -> object: ...

    def get_reference_id(self) -> object: ...

    def FnGetAtt(self, key: str, *path: object) -> object: ...


class NodeData:
    """The state of a resource and the values of its attributes. `attributes`: name, or tuple of name and path -> value,
    or the error of reading it, which is raised by those who ask for the value."""

    def __init__(self, primary_key: object, resource_name: str, uuid: object, reference_id: object,
                 attributes: Mapping[object, object], action: str, status: str) -> None:
        self.primary_key = primary_key
        self.name = resource_name
        self.uuid = uuid
        self.action = action
        self.status = status
        self._reference_id = reference_id
        self._attributes = dict(attributes)

    @classmethod
    def of(cls, resource: Readable, names: Iterable[object]) -> Self:
        """`names`: attributes, as `Resource.referenced_attrs` gives them. Those that do not exist are left out."""
        values: dict[object, object] = {}
        for name in names:
            key, *path = name if isinstance(name, tuple) else (name,)
            try:
                values[name] = resource.FnGetAtt(str(key), *path) if resource.action != 'INIT' else None
            except exception.InvalidTemplateAttribute:
                continue
            except Exception as error:          # of a service: `attribute` raises it
                values[name] = error
        return cls(resource.id, resource.name, resource.uuid, resource.get_reference_id(), values, resource.action,
                   resource.status)

    @classmethod
    def from_dict(cls, node_data: NodeFacts | Self) -> Self:
        """`node_data`: the result of `as_dict`, or an object of this class."""
        if isinstance(node_data, NodeData):
            return node_data
        return cls(node_data.get('id'), node_data['name'], node_data.get('uuid'), node_data.get('reference_id'),
                   node_data.get('attrs') or {}, node_data['action'], node_data['status'])

    def reference_id(self) -> object:
        return self._reference_id

    def attribute(self, attr_name: object) -> object:
        """Raise KeyError for one that was not read, and the error of reading it."""
        return _value(self._attributes[attr_name])

    def attributes(self) -> dict[str, object]:
        return {name: _value(value) for name, value in self._attributes.items() if isinstance(name, str)}

    def attribute_names(self) -> Iterator[str]:
        return (str(name[0] if isinstance(name, tuple) else name) for name in self._attributes)

    def as_dict(self) -> NodeFacts:
        return {'id': self.primary_key, 'name': self.name, 'uuid': self.uuid, 'reference_id': self._reference_id,
                'attrs': {name: _value(value) for name, value in self._attributes.items()},
                'action': self.action, 'status': self.status}


def _value(value: object) -> object:
    if isinstance(value, Exception):
        raise value
    return value
