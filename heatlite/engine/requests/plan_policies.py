"""Asks the operator's policies about a plan: rules of a file, and servers.

Nothing of a policy server is trusted: the time of all of them together, the size of their answers and the number of
plans that wait for them are bounded. One that gives no ruling counts as the option fail_open says.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oslo_config import cfg

from heatlite.common import exception, urlfetch
from heatlite.common.i18n import _
from heatlite.common.keyed_count import KeyedCount
from heatlite.common.runtime import Runtime
from heatlite.engine.requests.policy_rules import PlanRules
from heatlite.planning import ruling
from heatlite.planning.ruling import Effect, Ruling

LOG = logging.getLogger(__name__)

LARGEST_ANSWER = 65_536                 # bytes
MOST_WAITING = 16                       # plans of one engine that wait for policy servers
MOST_WAITING_OF_PROJECT = 4             # so that no project takes all of them


@dataclass(frozen=True)
class PolicySettings:
    """`timeout`: seconds that all servers may take together for one plan."""

    rules_file: str | None
    servers: Sequence[str]
    timeout: float
    fail_open: bool

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> PolicySettings:
        given = conf.plan_policies
        return cls(given.rules_file, given.servers, given.timeout, given.fail_open)


class PlanPolicies:
    """Judges the plans that are made or applied, in threads of requests, which ask one server after the other."""

    def __init__(self, runtime: Runtime, settings: PolicySettings) -> None:
        """Raise Error for a wrong rules file."""
        self._runtime = runtime
        self._settings = settings
        self._rules: PlanRules | None = None
        self._waiting: KeyedCount[str] = KeyedCount()       # plans that wait for servers, by project
        self.reload()

    def reload(self) -> None:
        """Read the rules anew. Raises Error for a wrong file; the former rules hold then."""
        path = self._settings.rules_file
        self._rules = PlanRules.load(path) if path else None

    @property
    def are_any(self) -> bool:
        return self._rules is not None or bool(self._settings.servers)

    def rulings(self, project_id: str, plan: Mapping[str, object]) -> tuple[Ruling, ...]:
        """Return what each policy says about a plan. `plan`: as shown, with whose it is. Raises HTTPServiceUnavailable
        while too many plans wait for policy servers."""
        found = self._rules.rulings(plan, self._when_broken) if self._rules is not None else []
        if self._settings.servers:
            self._check_waiting(project_id)
            with self._waiting.held(project_id):
                found += self._of_servers(plan)
        return tuple(found)

    @property
    def _when_broken(self) -> Effect:
        return Effect.WARN if self._settings.fail_open else Effect.DENY

    def _check_waiting(self, project_id: str) -> None:
        if self._waiting.total() >= MOST_WAITING or self._waiting.count(project_id) >= MOST_WAITING_OF_PROJECT:
            raise exception.HTTPServiceUnavailable(_('Too many plans wait for policy servers; try again later.'))

    def _of_servers(self, plan: Mapping[str, object]) -> list[Ruling]:
        body = json.dumps({'plan': plan}).encode('ascii')
        end = self._runtime.monotonic() + self._settings.timeout
        return [self._of_server(url, body, end) for url in self._settings.servers]

    def _of_server(self, url: str, body: bytes, end: float) -> Ruling:
        name = urlfetch.shown(url)
        try:
            answer = urlfetch.ask(url, body, max(end - self._runtime.monotonic(), 0.0), LARGEST_ANSWER)
            return ruling.answered(name, json.loads(answer))
        except (urlfetch.URLFetchError, ValueError, RecursionError) as error:
            why = str(error)
        LOG.warning('The policy server %s gave no ruling: %s', name, why)
        return Ruling(name, self._when_broken, (_('it gave no ruling: %s') % why,))
