"""A simulated cloud with two regions, and in each a deployment of the production profile, found through one Keystone.

    with TwoRegions(folder) as regions:
        regions.sets('POST', '', {...}, 201)            # of user demo, in RegionOne
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from tests.api import conforming
from tests.system import databases, identities, production
from tests.system.processes import ask, eventually, free_port
from tests.system.production import Production
from tests.system.relay import Relay

ONE, TWO = 'RegionOne', 'RegionTwo'
REASON = 'needs a database server and RabbitMQ: tools/services up'


def is_possible() -> bool:
    return bool(databases.FIRST and production.RABBIT)


def route(path: str) -> str:
    """The route of a path below stack_sets, as the description of the API names it."""
    parts = path.split('/')[1:]
    names = ['{stack_set}' if place == 0 and part != 'preview' else '{number}' if place == 2 else part
             for place, part in enumerate(parts)]
    return '/'.join(['/{tenant_id}/stack_sets', *names])


class TwoRegions:
    """`where`: region -> its deployment. `relay`: between RegionOne and the API of RegionTwo. `settings`: as those of
    `Production`, for both."""

    def __init__(self, folder: Path, engines: int = 2, **settings: Any) -> None:
        self._folder, self._engines, self._settings = folder, engines, settings
        self._cleanup = ExitStack()

    def __enter__(self) -> TwoRegions:
        with ExitStack() as undo:
            undo.push(self._cleanup)
            port = free_port()
            self.relay = Relay((production.HOST, port))
            self._cleanup.callback(self.relay.cut)
            one = self._cleanup.enter_context(Production(
                self._folder / 'one', self._engines, identity=partial(identities.Simulated, regions=(TWO,)),
                **self._settings))
            two = self._cleanup.enter_context(Production(
                self._folder / 'two', self._engines, port=port, identity=partial(
                    identities.InRegion, one.identity, TWO, f'http://{production.HOST}:{self.relay.port}'),
                **self._settings))
            undo.pop_all()
        self.where = {ONE: one, TWO: two}
        self.demo = one.people['demo']
        return self

    def __exit__(self, *_error: object) -> None:
        self._cleanup.close()

    # --- stack sets, in RegionOne -------------------------------------------------------------------------

    def sets(self, method: str, path: str = '', body: Any = None, status: int = 200) -> Any:
        """One request about stack sets, whose answer the description of the API knows."""
        answer = self.where[ONE].ask(self.demo, method, f'/stack_sets{path}', body)
        assert answer.status == status, (method, path, answer.text)
        kind = answer.headers.get('content-type', '').partition(';')[0]
        conforming.check(method, route(path), status, kind, answer.body)
        return answer.json if answer.body else None

    def ended(self, name: str) -> Any:
        """Waits until the operation of a set has ended; the set."""
        def state() -> Any:
            found = self.sets('GET', f'/{name}')['stack_set']
            return None if found['status'].endswith('IN_PROGRESS') else found
        return eventually('the end of the operation', state)

    def gone(self, name: str) -> None:
        """Waits until a set is deleted in both regions."""
        for region in self.where:
            eventually(f'the end of the stacks in {region}', lambda region=region: not self.stacks(region, name))

    def states(self, name: str) -> dict[str, str]:
        return {each['name']: each['state'] for each in self.sets('GET', f'/{name}/members')['members']}

    # --- what is in a region ------------------------------------------------------------------------------

    def stacks(self, region: str, prefix: str = '') -> list[Mapping[str, Any]]:
        found = self.where[region].ask(self.demo, 'GET', '/stacks').json['stacks']
        return [each for each in found if each['stack_name'].startswith(prefix)]

    def cloud(self, region: str, method: str, path: str, body: Any = None) -> Any:
        """One request to the control interface of the simulated cloud of a region."""
        status, found = ask(method, f'{self.where[region].identity.cloud_url}/_sim/{path}', body)
        assert status == 200, found
        return found

    def objects(self, region: str, table: str) -> Any:
        """{count, made, ids, names, objects} of a table: network.networks."""
        return self.cloud(region, 'GET', f'objects/{table}?full=1')['objects'][table]

    def said(self, region: str, words: str) -> int:
        """How many lines of the engines of a region have these words."""
        return sum(program.log.read_text().count(words) for program in self.where[region].engines)

    def tokens(self, region: str) -> list[str]:
        """The tokens that the database of a region has."""
        return [token for token, in self.where[region].rows('SELECT token FROM credentials') if token]

    def secret(self, payload: Mapping[str, Any]) -> str:
        """The id of a secret in RegionOne with a login."""
        answer = self.demo.session.post('/v1/secrets', endpoint_filter={
            'service_type': 'key-manager', 'region_name': ONE, 'interface': 'public'}, json={
                'name': 'login', 'payload': json.dumps(payload), 'payload_content_type': 'text/plain'})
        return str(answer.json()['secret_ref'].rpartition('/')[2])
