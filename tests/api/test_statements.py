"""How many statements each GET costs, whatever it finds. More than two must have a reason, given here."""

import contextlib

import pytest
import sqlalchemy as sa

from tests.api import in_process, rows

P = f'/v1/{in_process.PROJECT}'
WEB = f'{P}/stacks/web/{rows.WEB}'
INNER = f'{P}/stacks/web-inner-abcdefghijkl/{rows.INNER}'


@contextlib.contextmanager
def counted(database):
    seen = []

    def note(_connection, _cursor, statement, *_rest):
        seen.append(statement)

    engine = database._reading
    sa.event.listen(engine, 'before_cursor_execute', note)
    try:
        yield seen
    finally:
        sa.event.remove(engine, 'before_cursor_execute', note)


@pytest.mark.parametrize('path, statements', [
    (f'{P}/stacks', 1),
    (f'{P}/stacks?limit=1&tags=blue&status=COMPLETE', 1),
    (f'{P}/stacks?marker={rows.WEB}', 2),                           # where the marker stands
    (f'{P}/stacks?with_count=true', 2),
    (f'{P}/stacks/detail', 1),
    (f'{P}/stacks/web', 1),
    (f'{P}/stacks/{rows.WEB}', 1),
    (f'{P}/stacks/arn:openstack:heat::t:stacks/n/i', 0),
    (WEB, 1),
    (f'{WEB}?resolve_outputs=false', 1),
    (f'{WEB}/template', 2),
    (f'{WEB}/environment', 2),
    (f'{WEB}/files', 2),
    (f'{WEB}/outputs', 1),
    (f'{WEB}/outputs/url', 1),
    (f'{WEB}/resources', 1),
    (f'{WEB}/resources?nested_depth=5', 2),
    (f'{INNER}/resources', 1),
    (f'{INNER}/resources?nested_depth=1', 4),                       # itself twice, the level below it, rows
    (f'{WEB}/resources/net', 5),                                    # an engine that is up; what is hidden: 2
    (f'{WEB}/resources/net/metadata', 1),
    (f'{WEB}/events', 2),
    (f'{WEB}/events?sort_dir=asc&marker={rows.number(2, 3)}', 3),   # where the marker stands
    (f'{WEB}/events?nested_depth=2', 3),                            # where the page ends
    (f'{WEB}/resources/net/events', 2),
    (f'{WEB}/resources/net/events/{rows.number(2, 3)}', 5),       # and what is hidden in its properties
    (f'{WEB}/revisions', 2),
    (f'{WEB}/revisions?marker=2&limit=1', 2),
    (f'{WEB}/revisions/1', 3),                                      # the stack, the revision, its template
    (f'{WEB}/revisions/2', 4),                                      # and its files
    (f'{WEB}/revisions/2/diff', 6),                                 # and those of the one before
    (f'{WEB}/snapshots', 2),
    (f'{WEB}/snapshots/{rows.number(3, 1)}', 2),
    (f'{P}/software_configs', 1),
    (f'{P}/software_configs/{rows.number(4, 1)}', 1),
    (f'{P}/software_deployments', 2),
    (f'{P}/software_deployments/{rows.number(5, 1)}', 1),
    (f'{P}/software_deployments/metadata/{rows.number(6, 1)}', 1),
    (f'{P}/template_versions', 0),
    (f'{P}/build_info', 0),
])
def test_statements(api, database, path, statements):
    in_process.ask(api, 'GET', path)                                     # connections are made once
    with counted(database) as seen:
        answer = in_process.ask(api, 'GET', path)
    assert answer.status_code in (200, 302), answer.text
    assert len(seen) == statements, seen
