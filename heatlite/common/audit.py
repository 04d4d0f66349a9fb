"""The audit trail: one event in CADF (DMTF DSP0262) for each change, to a file, to the message bus, or both.

Off by default; pycadf is imported only while it is on. An event holds ids, names and outcomes, all bounded, and no
values of templates, parameters, bodies or queries.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from oslo_config import cfg

from heatlite.common import messaging, outages
from heatlite.common.bus_sender import BusSender

LOG = logging.getLogger(__name__)

LONGEST = 255                   # characters of one text in an event
FILE, BUS = 'file of the audit trail', 'message bus of the audit trail'
OF_API, OF_ENGINE = 'audit.http.response', 'audit.stack.action'         # event types on the bus
SUCCESS, FAILURE = 'success', 'failure'


@dataclass(frozen=True)
class Initiator:
    """Who asked. `kind`: of the credential, such as "token"; the credential itself is in no event."""

    id: str | None = None
    name: str | None = None
    project_id: str | None = None
    domain_id: str | None = None
    roles: tuple[str, ...] = ()
    address: str | None = None
    agent: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class AuditedChange:
    """One change, or the refusal of one. `type_uri`: of the target; `tags`: ids that lead to other records."""

    name: str                   # which call: method and route, or the action of an engine
    action: str                 # of CADF's taxonomy, refined behind a slash: update/signal
    outcome: str
    initiator: Initiator
    type_uri: str
    target_id: str | None = None
    target_name: str | None = None
    code: str | None = None     # status of HTTP, or of the action
    tags: Mapping[str, str | None] = field(default_factory=dict)


def document(change: AuditedChange, observer: str) -> dict[str, object]:
    """Return the event in CADF's JSON form."""
    from pycadf import cadftaxonomy, credential, event, host, identifier, reason, resource, tag
    who = change.initiator
    initiator = resource.Resource(
        id=who.id or identifier.generate_uuid(), typeURI=cadftaxonomy.ACCOUNT_USER, name=_bounded(who.name),
        credential=credential.Credential(token='***', type=who.kind) if who.kind else None,
        host=host.Host(address=_bounded(who.address), agent=_bounded(who.agent)) if who.address or who.agent else None)
    target = resource.Resource(id=_bounded(change.target_id) or 'unknown', typeURI=change.type_uri,
                               name=_bounded(change.target_name))
    found = event.Event(
        action=change.action, outcome=change.outcome, name=_bounded(change.name), initiator=initiator, target=target,
        observer=resource.Resource(id=observer, typeURI='service/orchestration', name='heatlite'),
        reason=reason.Reason(reasonType='HTTP' if change.code and change.code.isdigit() else 'status',
                             reasonCode=change.code) if change.code else None)
    for name, value in change.tags.items():
        if value:
            found.add_tag(tag.generate_name_value_tag(name, _bounded(value)))
    made: dict[str, object] = json.loads(json.dumps(found.as_dict()))
    shown = made['initiator']
    if isinstance(shown, dict):
        shown.update({name: value for name, value in (
            ('project_id', _bounded(who.project_id)), ('domain_id', _bounded(who.domain_id)),
            ('roles', [_bounded(role) for role in who.roles[:20]])) if value})
    return made


def _bounded(text: str | None) -> str | None:
    return text[:LONGEST] if text is not None else None


class Trail:
    """Delivers events; neither a full disk nor a silent bus delays or fails a change."""

    def __init__(self, observer: str, file: str | None,
                 publish: Callable[[str, dict[str, object]], None] | None) -> None:
        """`observer`: name of this process's part; `file`: gets a line of JSON for each event; `publish(type, event)`:
        sends one to the bus, and may block or raise."""
        self._observer = observer
        self._file = file
        self._publish = publish
        self._sender = BusSender(BUS, lambda send: threading.Thread(target=send, daemon=True).start())

    def record(self, event_type: str, change: AuditedChange) -> None:
        made = document(change, self._observer)
        if self._file:
            self._write(made)
        if self._publish is not None:
            self._sender.put(partial(self._publish, event_type, made))

    def _write(self, made: Mapping[str, object]) -> None:
        """Append a line: one write, so that lines of several processes do not mix. The file may be rotated."""
        assert self._file is not None
        line = json.dumps(made).encode() + b'\n'
        try:
            place = os.open(self._file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if _is_cut(place):
                    line = b'\n' + line
                written = os.write(place, line)
            finally:
                os.close(place)
            if written < len(line):             # no space is left; the next event begins a line of its own
                raise OSError(f'only {written} of the {len(line)} bytes of an event were written')
        except OSError as error:
            outages.away(FILE, error)
        else:
            if outages.current:
                outages.back(FILE)


def _is_cut(place: int) -> bool:
    """Whether the last line of a file has no end: a process, perhaps another one, could write only a part of it."""
    found = os.fstat(place)
    return stat.S_ISREG(found.st_mode) and found.st_size > 0 and os.pread(place, 1, found.st_size - 1) != b'\n'


class _Context(dict[str, object]):
    """A context for oslo.messaging: events need none."""

    def redacted_copy(self) -> _Context:
        return self


def of(conf: cfg.ConfigOpts, part: str) -> Trail | None:
    """Return the trail that the options of [audit] ask for; None: none. `part`: of the service, such as "api"."""
    options = conf.audit
    if not options.log_file and not options.notifications:
        return None
    observer = f'orchestration.{part}.{conf.host}'
    if not options.notifications:
        return Trail(observer, options.log_file, None)
    notifier = messaging.notifier(conf, observer)
    return Trail(observer, options.log_file, lambda kind, made: notifier.info(_Context(), kind, made))
