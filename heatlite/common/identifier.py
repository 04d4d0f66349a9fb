"""Identifiers of stacks, resources and events, as paths of URLs and as ARNs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

_TAIL = re.compile(r'^stacks/(?P<name>[^/]+)/(?P<id>[^/]+)(?P<path>.*)$', re.S)


@dataclass(frozen=True)
class HeatIdentifier:
    """`{tenant, stack_name, stack_id, path}`; `path` is '' or starts with a slash."""

    tenant: str
    stack_name: str
    stack_id: str
    path: str = ''

    def __post_init__(self) -> None:
        if '/' in self.stack_name:
            raise ValueError('Stack name may not contain "/"')
        if self.path and not self.path.startswith('/'):
            object.__setattr__(self, 'path', f'/{self.path}')

    @classmethod
    def from_arn(cls, arn: str) -> HeatIdentifier:
        """Parse an ARN. Raises ValueError unless it is `arn:openstack:heat:<region>:<tenant>:stacks/NAME/ID...`."""
        fields = arn.split(':', 5)
        if len(fields) < 6 or fields[0].lower() != 'arn' or fields[1:3] != ['openstack', 'heat']:
            raise ValueError(f'"{arn}" is not a valid Heat ARN')
        tail = _TAIL.match(fields[5])
        if tail is None:
            raise ValueError(f'"{fields[5]}" is not a valid ARN path')
        return cls(unquote(fields[4]), unquote(tail['name']), unquote(tail['id']), unquote(tail['path']))

    @classmethod
    def from_arn_url(cls, url: str) -> HeatIdentifier:
        """Parse the ARN at the end of the path of `url`, percent-quoted or not."""
        path = unquote(url.split('?', 1)[0])
        start = path.find('arn:')
        if start < 0:
            raise ValueError(f'"{url}" contains no ARN')
        return cls.from_arn(path[start:])

    def arn(self) -> str:
        return f'arn:openstack:heat::{quote(self.tenant, "")}:{self._tail()}'

    def arn_url_path(self) -> str:
        return '/' + quote(self.arn())

    def url_path(self) -> str:
        return f'{quote(self.tenant, "")}/{self._tail()}'

    def stack_path(self) -> str:
        return f'{self.stack_name}/{self.stack_id}'

    def _tail(self) -> str:
        path = '/'.join(quote(part, '') for part in self.path.split('/'))
        return f'stacks/{quote(self.stack_name, "")}/{quote(self.stack_id, "")}{path}'

    def stack(self) -> HeatIdentifier:
        return HeatIdentifier(self.tenant, self.stack_name, self.stack_id)

    def __iter__(self) -> Iterator[str]:
        """Iterate as a mapping does, so that `dict(identifier)` is its wire form."""
        return iter(('tenant', 'stack_name', 'stack_id', 'path'))

    def keys(self) -> tuple[str, ...]:
        return ('tenant', 'stack_name', 'stack_id', 'path')

    def __getitem__(self, key: str) -> str:
        if key not in self.keys():
            raise KeyError(key)
        return str(getattr(self, key))


class ResourceIdentifier(HeatIdentifier):
    """An identifier whose path is `/resources/NAME`."""

    @classmethod
    def of(cls, stack: HeatIdentifier, resource_name: str) -> ResourceIdentifier:
        return cls(stack.tenant, stack.stack_name, stack.stack_id, f'/resources/{resource_name}')

    @property
    def resource_name(self) -> str:
        return self.path.split('/', 2)[2]


class EventIdentifier(HeatIdentifier):
    """An identifier whose path is `/resources/NAME/events/ID`."""

    @property
    def resource_name(self) -> str:
        return self.path.split('/', 2)[2].rsplit('/events/', 1)[0]

    @property
    def event_id(self) -> str:
        return self.path.rsplit('/', 1)[1]
