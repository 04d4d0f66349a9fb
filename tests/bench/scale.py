"""A million resources in one tree of stacks: `python -m tests.bench mariadb --scenarios scale [--smaller N]`.

A root with a thousand nested stacks of a thousand no-op resources each. One of them has a file of its own, the others
share one. With two engines it takes about twenty minutes; `--smaller N` divides both numbers by N.
"""

from __future__ import annotations

import http.client
import json
import statistics
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa

from tests.bench import deployments
from tests.bench.scenarios import Figures, act, deployment, ended, flat, kill_busiest, template
from tests.system.processes import ask, login

LOAD_SECONDS = 60.0                     # of reads while the whole tree is updated
PAUSE = 0.02                            # seconds between two reads
CHANGED = 4                             # one of so many resources is replaced meanwhile: more than end during the reads


def scale(backend: str, smaller: int) -> Figures:
    """Create, one leaf changed, nothing, reads beside an update of everything, an engine killed in it, delete."""
    wide = max(2, 1000 // smaller)
    shared, own = json.dumps(flat(wide)), json.dumps(flat(wide, changed=1))
    body = {
        'template': template({f'n{number}': {'type': 'leaf.yaml' if number else 'own.yaml'} for number in range(wide)}),
        'files': {'leaf.yaml': shared, 'own.yaml': shared}}
    one = {**body, 'files': {'leaf.yaml': shared, 'own.yaml': own}}
    many = json.dumps(flat(wide, changed=wide // CHANGED))
    everything = {**body, 'files': {'leaf.yaml': many, 'own.yaml': many}}
    figures: Figures = {'resources': wide * wide}
    with deployment(backend, 1 if backend == 'sqlite' else 2) as found:
        empty, root = stored_bytes(found), f'{found.url}/stacks'
        for name, method, wanted in (('create', 'POST', {'stack_name': 'tree', **body}), ('nothing', 'PUT', body),
                                     ('one_leaf', 'PUT', one)):
            with deployments.Meter(found) as meter:
                root = act(found, method, root, wanted)
            figures |= {f'{name}_seconds': meter.wall, f'{name}_cpu_seconds': meter.cpu}
        figures['bytes_per_resource'] = (stored_bytes(found) - empty) / wide ** 2
        figures['engine_mib'] = max(deployments.engines_mib(found))
        figures |= _under_load(found, root, everything, LOAD_SECONDS / smaller ** 2)
        figures['engine_mib_of_update'] = max(deployments.engines_mib(found))
        with deployments.Meter(found) as delete:
            act(found, 'DELETE', root)
        figures |= {'delete_seconds': delete.wall, 'delete_cpu_seconds': delete.cpu}
    return figures


def _under_load(found: Any, root: str, everything: dict[str, Any], seconds: float) -> Figures:
    """The tree is updated, every nested stack of it: reads meanwhile, then SIGKILL of an engine, then the end."""
    nested = next(link['href'] for link in ask('GET', f'{root}/resources/n1')[1]['resource']['links']
                  if link['rel'] == 'nested')
    names = '&'.join(f'name=r{number}' for number in range(100))        # resources have no pages of their own
    reads = {'get_stack': f'{root}?resolve_outputs=false', 'resources_100': f'{nested}/resources?{names}',
             'events_100': f'{nested}/events?limit=100'}
    status, answer = ask('PUT', root, everything)
    if status != 202:
        raise SystemExit(f'PUT: {status} {answer}')
    began = time.monotonic()
    figures = _read(reads, seconds)
    if found.engines:
        figures['stacks_of_killed'], figures['taken_over_seconds'] = kill_busiest(found)
        if not figures['stacks_of_killed']:
            raise SystemExit('The update has ended before the engine was killed: it must change more, see CHANGED')
    ended(root)
    return {**figures, 'everything_seconds': time.monotonic() - began}


def _read(reads: dict[str, str], seconds: float) -> Figures:
    """Milliseconds by name of a read, each over a connection that is kept, one after the other."""
    times: dict[str, list[float]] = {name: [] for name in reads}
    problems: list[str] = []

    def reader(name: str, url: str, until: float) -> None:
        place = urlsplit(url)
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
        while time.monotonic() < until or not times[name]:
            began = time.monotonic()
            connection.request('GET', f'{place.path}?{place.query}', headers=login(url))
            answer = connection.getresponse()
            text = answer.read()
            times[name].append(1000 * (time.monotonic() - began))
            if answer.status != 200:
                problems.append(f'GET {url}: {answer.status} {text[:500]!r}')
                break
            time.sleep(PAUSE)
        connection.close()

    threads = [threading.Thread(target=reader, args=(name, url, time.monotonic() + seconds))
               for name, url in reads.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise SystemExit('\n'.join(problems))
    return {f'{name}_p{part}_ms': figure for name, each in times.items() for part, figure in (
        (50, statistics.median(each)), (99, sorted(each)[int(len(each) * 0.99)]))}


def stored_bytes(found: Any) -> float:
    """Bytes that all tables and their indexes take in the database."""
    engine = sa.create_engine(found.database_url, isolation_level='AUTOCOMMIT')
    with engine.connect() as connection:
        if engine.dialect.name == 'sqlite':
            size = connection.exec_driver_sql('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size')
        elif engine.dialect.name == 'postgresql':
            size = connection.exec_driver_sql('SELECT pg_database_size(current_database())')
        else:
            size = connection.exec_driver_sql(
                'SELECT SUM(file_size) FROM information_schema.innodb_sys_tablespaces '
                "WHERE name LIKE CONCAT(DATABASE(), '/%%')")
        found_size = float(size.scalar() or 0)
    engine.dispose()
    return found_size
