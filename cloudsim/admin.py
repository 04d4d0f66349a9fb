"""The door behind the counter: /_sim/..., for tests and for people who play. Needs no token; loopback only."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import Any
from urllib.parse import parse_qs

from cloudsim import faults
from cloudsim.cloud import Cloud
from cloudsim.messages import BadRequest, Problem, Reply


def answer(cloud: Cloud, environ: dict[str, Any], path: str, raw: bytes) -> Reply:
    """One request to /_sim/PATH. Errors are JSON with one text."""
    cloud.clock.catch_up()
    method = environ['REQUEST_METHOD']
    query = {name: values[-1] for name, values in parse_qs(environ.get('QUERY_STRING', '')).items()}
    head, _, rest = path.partition('/')
    function = ROUTES.get((method, head))
    try:
        if function is None:
            raise Problem(404, 'Known: ' + ', '.join(f'{each[0]} /_sim/{each[1]}' for each in sorted(ROUTES)))
        try:
            said = json.loads(raw) if raw else {}
        except ValueError:
            raise BadRequest('The body is not JSON.') from None
        return Reply(200, function(cloud, said, rest, query))
    except Problem as problem:
        return Reply(problem.status, {'error': problem.message})


def show_faults(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    return {'faults': [dataclasses.asdict(each) for each in cloud.faults.rules], 'kinds': faults.KINDS}


def add_faults(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    """One rule or a list of them; all or none."""
    made = [faults.parse(each, cloud.uuid()) for each in (said if isinstance(said, list) else [said])]
    for each in made:
        cloud.faults.add(each)
    return {'faults': [dataclasses.asdict(each) for each in made]}


def clear_faults(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    cloud.faults.clear(rest or None)
    return show_faults(cloud, said, rest, query)


def show_objects(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    """What is alive, by service and kind; `?project_id=` and /_sim/objects/SERVICE.KIND narrow it, `?full=1` shows all
    that is known of each."""
    found: dict[str, Any] = {}
    for service in cloud.services.values():
        for table in service.tables():
            if rest and table.name not in (rest, *(f'{service.name}.{table.name}',)) \
                    and not table.name.startswith(rest + '.'):
                continue
            things = [each for each in table if query.get('project_id') in (None, each.project_id)]
            found[table.name] = {'count': len(things), 'made': table.made, 'ids': [each.id for each in things],
                                 'names': [each.get('name') for each in things]}
            if 'full' in query:
                found[table.name]['objects'] = [each.data for each in things]
    return {'objects': found, 'waiting': cloud.clock.waiting}


def show_state(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    """All that the services store: the fields of each object, also those that no request shows, and the quotas."""
    return {'objects': {table.name: [{'id': each.id, 'data': each.data,
                                      'hidden': json.loads(json.dumps(each.hidden, default=_unstored))}
                                     for each in table]
                        for service in cloud.services.values() for table in service.tables()},
            'limits': {service.name: service.limits for service in cloud.services.values() if service.limits}}


def _unstored(value: Any) -> Any:
    """As JSON: a set as a sorted list, bytes as text; of anything else only that it is there."""
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return value.decode(errors='replace') if isinstance(value, bytes) else type(value).__name__


def set_clock(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    """{"advance": seconds}, {"stopped": true | false}, or both."""
    if said.get('stopped') is True:
        cloud.clock.stop()
    if said.get('stopped') is False:
        cloud.clock.go()
    if 'advance' in said:
        if not isinstance(said['advance'], int | float) or said['advance'] < 0:
            raise BadRequest('advance: seconds, not negative')
        cloud.clock.advance(said['advance'])
    return show_clock(cloud, said, rest, query)


def show_clock(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    return {'now': cloud.clock.stamp('%Y-%m-%dT%H:%M:%S.%fZ'), 'waiting': cloud.clock.waiting}


def reset(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    """Everything as at the start: seeds only, no faults, the runtime's time. Settings stay."""
    cloud.build()
    return {}


def show_settings(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    return dataclasses.asdict(cloud.settings)


def change_settings(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    try:
        cloud.settings = dataclasses.replace(cloud.settings, **said)
    except TypeError as error:
        raise BadRequest(str(error)) from None
    return show_settings(cloud, said, rest, query)


def show_requests(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    """How many came, and the last ones: service, method, path, status (0: closed without an answer)."""
    wanted = [each for each in cloud.journal if not rest or each[0] == rest]
    return {'total': cloud.requests, 'last': wanted[-int(query.get('limit', 200)):],
            'by_status': dict(Counter(str(each[3]) for each in wanted))}


def set_catalog(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    """{type: URL}: services that run elsewhere, to be found in the catalog; the URL may hold %(project_id)s."""
    cloud.service('identity').add_outside(cloud, said)
    return {}


def set_quotas(cloud: Cloud, said: Any, rest: str, query: dict[str, str]) -> Any:
    """/_sim/quotas/SERVICE/PROJECT: {resource: limit}, -1 for none."""
    service, _, project = rest.partition('/')
    if service not in cloud.services:
        raise BadRequest(f'no service {service}')
    limits = cloud.services[service].limits.setdefault(project, {})
    limits.update(said)
    return limits


ROUTES = {
    ('GET', 'faults'): show_faults, ('POST', 'faults'): add_faults, ('DELETE', 'faults'): clear_faults,
    ('GET', 'objects'): show_objects, ('GET', 'state'): show_state,
    ('GET', 'clock'): show_clock, ('POST', 'clock'): set_clock,
    ('POST', 'reset'): reset, ('GET', 'settings'): show_settings, ('PUT', 'settings'): change_settings,
    ('GET', 'requests'): show_requests, ('POST', 'catalog'): set_catalog, ('PUT', 'quotas'): set_quotas,
}
