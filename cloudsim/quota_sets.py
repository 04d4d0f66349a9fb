"""/os-quota-sets, as Nova, Cinder and Manila have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Forbidden

if TYPE_CHECKING:
    from cloudsim.service import Route, Service

Usage = Callable[[str | None], dict[str, int]]


def routes(service: Service, base: str, names: tuple[str, ...], usage: Usage,
           until: dict[str, tuple[int, int]] | None = None) -> Iterable[Route]:
    """`names`: the limits there are; `usage`: how much of them a project uses; `until`: microversions from which some
    are not shown any more."""
    def known(call: Call) -> list[str]:
        return [name for name in names if until is None or call.version < until.get(name, (999, 0))]

    def shown(call: Call, project: str) -> dict[str, Any]:
        return {'id': project, **{name: service.limit(project, name) for name in known(call)}}

    def allowed(call: Call, project: str, change: bool = False) -> None:
        if not call.is_admin and (change or project != call.project_id):
            raise Forbidden

    def detailed(call: Call, project: str) -> dict[str, Any]:
        used = usage(project)
        return {'id': project, **{name: {'limit': service.limit(project, name), 'in_use': used.get(name, 0),
                                         'reserved': 0} for name in known(call)}}

    def show(call: Call, project: str) -> Any:
        allowed(call, project)
        return 200, {'quota_set': detailed(call, project) if call.is_asked('usage') else shown(call, project)}

    def details(call: Call, project: str) -> Any:
        allowed(call, project)
        return 200, {'quota_set': detailed(call, project)}

    def defaults(call: Call, project: str) -> Any:
        return 200, {'quota_set': {'id': project, **dict.fromkeys(known(call), -1)}}

    def change(call: Call, project: str) -> Any:
        allowed(call, project, change=True)
        for name, value in call.entity('quota_set').items():
            if name in ('force', 'tenant_id', 'user_id', 'id'):
                continue
            # Limits per volume type are named after the type and are not known beforehand.
            if name not in names and not name.startswith(('volumes_', 'gigabytes_', 'snapshots_')):
                raise BadRequest(f"Additional properties are not allowed ('{name}' was unexpected)")
            service.limits.setdefault(project, {})[name] = int(value)
        return 200, {'quota_set': shown(call, project)}

    def reset(call: Call, project: str) -> Any:
        allowed(call, project, change=True)
        service.limits.pop(project, None)
        return 202

    yield 'GET', base + '/{project}', show
    yield 'GET', base + '/{project}/detail', details
    yield 'GET', base + '/{project}/defaults', defaults
    yield 'PUT', base + '/{project}', change
    yield 'DELETE', base + '/{project}', reset
