"""Quotas of the network service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Forbidden, NotFound
from cloudsim.service import Route

if TYPE_CHECKING:
    from cloudsim.services.network import NetworkService


def routes(service: NetworkService) -> Iterable[Route]:
    kinds = {each.kind.quota: each for each in service.collections() if each.kind.quota}
    names = {**kinds, 'health_monitor': None, 'firewall': None, 'vip': None}

    def limits(project: str) -> dict[str, int]:
        return {name: service.limit(project, name) for name in kinds}

    def show(call: Call, project: str) -> Any:
        if not call.is_admin and project != call.project_id:
            raise Forbidden
        return 200, {'quota': limits(project)}

    def details(call: Call, project: str) -> Any:
        return 200, {'quota': {name: {
            'limit': service.limit(project, name), 'reserved': 0,
            'used': each.table.count('project_id', project)} for name, each in kinds.items()}}

    def everyone(call: Call) -> Any:
        return 200, {'quotas': [{**limits(project), 'project_id': project, 'tenant_id': project}
                                for project in service.limits]}

    def defaults(call: Call, project: str) -> Any:
        return 200, {'quota': dict.fromkeys(kinds, -1)}

    def change(call: Call, project: str) -> Any:
        if not call.is_admin:
            raise Forbidden
        said = call.entity('quota')
        for name, value in said.items():
            if name not in names and name not in ('check_limit', 'force'):
                raise BadRequest(f"Unrecognized attribute(s) '{name}'", 'HTTPBadRequest')
            service.limits.setdefault(project, {})[name] = int(value)
        return 200, {'quota': limits(project)}

    def reset(call: Call, project: str) -> Any:
        if not call.is_admin:
            raise Forbidden
        if service.limits.pop(project, None) is None:
            raise NotFound('Quota for tenant', project)
        return 204

    yield 'GET', '/v2.0/quotas', everyone
    yield 'GET', '/v2.0/quotas/{project}', show
    yield 'GET', '/v2.0/quotas/{project}/default', defaults
    yield 'GET', '/v2.0/quotas/{project}/details', details
    yield 'GET', '/v2.0/quotas/{project}/details.json', details
    yield 'PUT', '/v2.0/quotas/{project}', change
    yield 'DELETE', '/v2.0/quotas/{project}', reset
