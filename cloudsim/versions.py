"""Version documents and microversions, as keystoneauth1's discovery reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import Call, Problem, Reply

if TYPE_CHECKING:
    from cloudsim.service import Description, Service

UPDATED = '2026-01-01T00:00:00Z'


def opened(function: Any) -> Any:
    """Marks a function as one that needs no token."""
    function.is_open = True
    return function


def routes(service: Service) -> Iterable[tuple[str, str, Any]]:
    """`/` and each version's own path. An entry has id, path and may have status, min_version, version; `single`:
    the key around one version (version), or '' for none; `list` keeps more than documents at `/` apart."""
    known = service.description.versions
    if not known:
        return

    @opened
    def everything(call: Call) -> Any:
        documents = [document(service, each) for each in known]
        if service.description.errors == 'keystone':
            return Reply(300, {'versions': {'values': documents}})
        return Reply(int(known[0].get('code', 200)), {'versions': documents})

    yield 'GET', '/', everything
    for entry in known:
        def one(call: Call, entry: Any = entry) -> Any:
            found = document(service, entry)
            if entry.get('inside') == 'list':
                return 200, {'versions': [found]}
            if entry.get('inside') == 'none':
                return 200, found
            return 200, {'version': found}

        if entry['path'].strip('/'):
            yield 'GET', entry['path'], opened(one)


def document(service: Service, entry: Any) -> dict[str, Any]:
    found = {'id': entry['id'], 'status': entry.get('status', 'CURRENT'), 'updated': UPDATED,
             'links': [{'rel': 'self', 'href': f'{service.cloud.url}/{service.name}{entry["path"]}/'}]}
    if service.description.errors == 'keystone':
        found['media-types'] = [{'base': 'application/json', 'type': 'application/vnd.openstack.identity-v3+json'}]
    for word in ('min_version', 'version', 'max_version'):
        if word in entry:
            found[word] = entry[word]
    return found


def agreed(description: Description, call: Call) -> tuple[int, int]:
    """What the request asks for in `OpenStack-API-Version: TYPE X.Y` or the service's older header; else the least.

    Raises Problem (400 malformed, 406 out of range).
    """
    rules = description.microversion
    if not rules:
        return (0, 0)
    said = _said(rules, call)
    least, greatest = parsed(rules['least']), parsed(rules['greatest'])
    if said is None:
        return least
    if said == 'latest':
        return greatest
    try:
        wanted = parsed(said)
    except ValueError:
        raise Problem(400, f'API Version String {said} is of invalid format. Must be of format '
                           'MajorNum.MinorNum.') from None
    if not least <= wanted <= greatest:
        raise Problem(406, f'Version {said} is not supported by the API. Minimum is {rules["least"]} '
                           f'and maximum is {rules["greatest"]}.')
    return wanted


def _said(rules: Any, call: Call) -> str | None:
    for each in (call.header('OpenStack-API-Version') or '').split(','):
        words = each.split()
        if len(words) == 2 and words[0] in rules['type'].split():
            return words[1]
    return call.header(rules['older']) if 'older' in rules else None


def parsed(text: str) -> tuple[int, int]:
    major, minor = text.split('.')
    return int(major), int(minor)


def headers(description: Description, call: Call) -> dict[str, str]:
    rules = description.microversion
    if not rules or not call.version[0]:
        return {}
    version = f'{call.version[0]}.{call.version[1]}'
    found = {'OpenStack-API-Version': f'{rules["type"].split()[0]} {version}', 'Vary': 'OpenStack-API-Version'}
    if 'older' in rules:
        found[rules['older']] = version
    if 'bounds' in rules:
        found[f'{rules["bounds"]}-Minimum-Version'] = rules['least']
        found[f'{rules["bounds"]}-Maximum-Version'] = rules['greatest']
    return found
