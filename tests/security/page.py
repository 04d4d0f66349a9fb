"""The page for operators, made from the table."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

from tests.security.doors import DOORS, Api, Door
from tests.security.table import Proof, Risk, proof

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'operators' / 'api-security.rst'
HEAD = """\
.. Written by ``python -m tests.security``; do not edit.

Risks of the APIs, route by route
=================================
The ten risks of the OWASP API Security Top 10 (2023), for each route of the REST API and each action of the two APIs
for clients of AWS. `Security <security.rst>`_ says what the service protects from whom. Each statement is proved by
tests of the repository, or it says why the risk does not apply. A route that is not in this table fails the tests.
"""
SUMMARY = {
    Risk.API1: 'Objects of another project are reported as missing, with the answer for objects that do not exist; '
               'both cost the same statements. Engines check the project again.',
    Risk.API2: 'Without a token, or with one that is garbled, over or not accepted by Keystone, nothing is read; '
               'identity headers of clients are removed.',
    Risk.API3: 'Keys that do not belong to a request are refused, or ignored as Heat ignores them. Answers have the '
               'fields that ``GET /v1/openapi.json`` describes.',
    Risk.API4: 'Bodies beyond ``max_json_body_size`` are not read, queries have at most 1 000 fields, connections have '
               'times and numbers (`running <running.rst>`_). ``[rate_limits]`` bounds the requests of a '
               'project in a minute. What each route may make or list is limited for a project or a stack.',
    Risk.API5: 'Each request asks a rule of the `policy <policy.rst>`_, and no role means no answer. Readers change '
               'nothing, except that they check stacks and send signals, by Heat\'s defaults; attributes that give '
               'access to something are null for them (rule ``resource:show_access``).',
    Risk.API6: 'Requests that cost, delete or take data away have limits of their own, which hold for members too.',
    Risk.API7: 'URLs in requests are asked only outside ``template_fetch_deny``, also after redirects and changes of '
               'names.',
    Risk.API8: 'Other methods are refused. Faults show no statement and no traceback unless ``debug`` is on. Answers '
               'are not cached, and not readable by pages of other sites unless ``[cors]`` names them.',
    Risk.API9: 'What is served is in the tables below; without a login only what is listed at the end.',
    Risk.API10: 'Answers of other services are read up to ``[clients] max_answer_size`` bytes and ``[clients] '
                'max_answer_time`` seconds, and are never evaluated.'}
# Path -> what it shows. All of it is served without a login.
PUBLIC = {
    '/': 'the versions of the API',
    '/healthcheck': 'that the process lives; 503 while the file of ``disable_by_file_path`` exists',
    '/readiness': 'whether it can serve',
    '/metrics': 'figures, to clients on the same host only',
    '/v1/openapi.json': 'the description of the REST API',
    '/console/': 'the files of the console, if ``[console] enabled`` is set'}


def written() -> str:
    return '\n'.join([*_lines(), ''])


def _lines() -> Iterator[str]:
    yield HEAD
    yield from _table(('Risk', 'Answer'), [
        (f'{risk.name}: {risk}', SUMMARY[risk]) for risk in Risk], widths='25 75')
    for api in Api:
        title = f'The {api} API'
        yield from (title, '-' * len(title), '')
        for risk in Risk:
            yield from (f'{risk.name}: {risk}', '~' * len(f'{risk.name}: {risk}'), '')
            yield from _table(('Statement', 'Requests', 'Tests'), list(_rows(api, risk)), widths='25 40 35')
    yield from ('Without a login', '---------------', '')
    yield from _table(('Path', 'Shows'), [(f'``{path}``', what) for path, what in PUBLIC.items()], widths='25 75')


def _rows(api: Api, risk: Risk) -> Iterator[tuple[str, str, str]]:
    """Requests with the same proof share a row."""
    found: dict[Proof, list[Door]] = {}
    for door in DOORS:
        if door.api is api:
            found.setdefault(proof(risk, door), []).append(door)
    everything = sum(map(len, found.values()))
    for each, doors in found.items():
        requests = 'all' if len(doors) == everything else ', '.join(dict.fromkeys(map(shown, doors)))
        yield each.what, requests, ', '.join(f'``{name}``' for name in each.tests) or 'does not apply'


def shown(door: Door) -> str:
    """The request as readers know it."""
    if door.is_action:
        return f'``{door.name}``'
    if door.name == 'stacks.lookup':
        return 'lookups by name or ARN'
    return f'``{door.method} {door.path.removeprefix("/{tenant_id}") or "/"}``'


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]], widths: str) -> Iterator[str]:
    yield from ('.. list-table::', '   :header-rows: 1', f'   :widths: {widths}', '')
    for row in (head, *rows):
        for number, cell in enumerate(row):
            yield f'   {"* -" if number == 0 else "  -"} {cell}'
    yield ''
