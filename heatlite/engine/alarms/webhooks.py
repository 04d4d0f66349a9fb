"""Sends the requests that follow from alarms. They wait in a table, so that none is lost with an engine.

A request is sent at least once, and again after a failure, at most TRIES times in all; each outcome is in the history.
Projects take turns, and those of one whose receivers are slow wait in the table: they hold up no other project.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from oslo_log import log
from sqlalchemy import Connection

from heatlite.common import exception, outages, turns, urlfetch
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import alarms, codec, metrics
from heatlite.db.alarms import Webhook
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine.alarms import evaluation
from heatlite.engine.alarms.transitions import FAILED, SUCCEEDED, action_entry
from heatlite.engine.durability.journal import LeaseLost
from heatlite.engine.durability.pool import Pool
from heatlite.monitoring import alarm_actions

LOG = log.getLogger(__name__)

TRIES: Final = 5
PAUSES: Final = (5.0, 20.0, 60.0, 180.0)    # seconds after each failure
AT_ONCE: Final = 16                         # requests that an engine sends at the same time
BATCH: Final = 100                          # requests that are read at once
OF_PROJECT: Final = 2 * AT_ONCE             # of one project that are under way or wait for a thread; others stay stored

Post = Callable[[str, bytes], int]


class Webhooks:
    def __init__(self, runtime: Runtime, database: Database, post: Post, may_act: Callable[[Lease], None]) -> None:
        """`post(url, body)`: sends a request and returns the status of the answer; raises URLFetchError.

        `may_act(lease)`: returns while the lease is certainly valid; raises LeaseLost.
        """
        self.post = post
        self._database = database
        self._may_act = may_act
        self._pool = Pool(runtime, AT_ONCE)
        self._under_way: dict[int, str] = {}            # id of a request -> its project

    def send(self, lease: Lease, waiting: list[Webhook]) -> None:
        """Begin to send requests of the lease's shard; those under way are not sent twice."""
        of_project = Counter(self._under_way.values())
        for each in waiting:
            if each.id not in self._under_way and of_project[each.project_id] < OF_PROJECT:
                self._under_way[each.id] = each.project_id
                of_project[each.project_id] += 1
                self._pool.run(partial(self._deliver, lease, each), each.project_id, each.alarm_id)

    @property
    def under_way(self) -> int:
        """How many requests are under way, or wait for a thread."""
        return len(self._under_way)

    def busy(self) -> list[str]:
        """The projects that have OF_PROJECT requests under way."""
        return [project_id for project_id, number in Counter(self._under_way.values()).items() if number >= OF_PROJECT]

    def stop(self) -> None:
        self._pool.stop()

    def _deliver(self, lease: Lease, webhook: Webhook) -> None:
        turns.begin(webhook.project_id)
        try:
            self._may_act(lease)
            why_not = self._send(webhook)
            self._database.retry_until_available(lambda tx: self._store(tx, lease, webhook, why_not))
        except LeaseLost:
            LOG.info('A request of alarm %s is left to another engine', webhook.name)
        except exception.DatabaseUnavailable as error:
            outages.away(outages.DATABASE, error)
        finally:
            self._under_way.pop(webhook.id, None)

    def _send(self, webhook: Webhook) -> str | None:
        """Why the request was not accepted, or None."""
        url, body = webhook.url, webhook.body
        if isinstance(url, codec.Unreadable):
            return _('The request cannot be read. %s') % url.reason
        if isinstance(body, codec.Unreadable):
            return _('The request cannot be read. %s') % body.reason
        shown = alarm_actions.shown(url)
        try:
            status = self.post(url, codec.encode(body).encode())
        except urlfetch.URLFetchError as error:
            return str(error).replace(urlfetch.shown(url), shown)
        if 200 <= status < 300:
            return None
        return _('%(url)s answered with %(status)d.') % {'url': shown, 'status': status}

    def _store(self, tx: Connection, lease: Lease, webhook: Webhook, why_not: str | None) -> None:
        evaluation.held(tx, lease)
        now = evaluation.time(tx)
        at = metrics.moment(now)
        if why_not is None:
            if alarms.sent(tx, webhook):
                alarms.remember(tx, [action_entry(webhook, SUCCEEDED, _('A request to %s was accepted.')
                                                  % alarm_actions.shown(str(webhook.url)), at)])
            return
        attempt = webhook.attempts + 1
        is_last = attempt >= TRIES
        stored = alarms.sent(tx, webhook) if is_last else alarms.postpone(tx, webhook, now + PAUSES[webhook.attempts])
        if stored:
            text = _('Attempt %(attempt)d of %(tries)d failed: %(why)s') % {
                'attempt': attempt, 'tries': TRIES, 'why': why_not}
            alarms.remember(tx, [action_entry(webhook, FAILED, text, at)])
