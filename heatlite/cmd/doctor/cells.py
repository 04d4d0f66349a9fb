"""Checks of the cells beside the home cell: their options, databases, brokers and engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace

from heatlite.cmd.doctor import broker, database
from heatlite.cmd.doctor.checks import Check, DoctorFinding
from heatlite.cmd.doctor.site import Site, with_timeouts
from heatlite.common import exception, messaging, options
from heatlite.common.i18n import _
from heatlite.db.cells import names
from heatlite.db.connection import Database


def unused(site: Site) -> str:
    """Why there are no other cells."""
    return '' if site.conf.cells.names else _('[cells] names is not set')


def are_described(site: Site) -> Iterator[DoctorFinding]:
    try:
        found = names(site.conf)
    except exception.Error as error:
        yield DoctorFinding(_('[cells] names has names of other cells.'), str(error), _('Correct [cells] names.'))
        return
    for name in found:
        group = options.cell_group(name)
        for option in ('connection', 'transport_url'):
            if not site.conf[group][option]:
                yield DoctorFinding(_('The group [%s] has the database and the broker of the cell.') % group,
                                    _('The option %s is not set.') % option,
                                    _('Set [%(group)s] %(option)s to what the engines of this cell have.')
                                    % {'group': group, 'option': option})


def databases(site: Site) -> Iterator[DoctorFinding]:
    """Each of them: reached, of this release, with secrets that the key decrypts."""
    for name in names(site.conf):
        url = site.conf[options.cell_group(name)].connection
        try:
            with closing(Database(with_timeouts(url, site.timeout))) as found:
                yield from _of(name, [*database.schema_of(found), *database.key_of(found, site)])
        except exception.HeatException as error:
            yield from _of(name, [DoctorFinding(
                _('The user of its connection logs in to its database.'), str(error),
                _('Start the database server, or correct [%s] connection.') % options.cell_group(name))])


def brokers(site: Site) -> Iterator[DoctorFinding]:
    """Each host of each of them."""
    for name in names(site.conf):
        url, hosts = messaging.peers(site.conf, site.conf[options.cell_group(name)].transport_url)
        if messaging.connects(url):
            yield from _of(name, broker.unreachable(site, hosts))


def are_answered(site: Site) -> Iterator[DoctorFinding]:
    for name in names(site.conf):
        given = site.conf[options.cell_group(name)]
        if messaging.connects(messaging.peers(site.conf, given.transport_url)[0]):
            yield from _of(name, broker.is_received(site, given.topic or site.conf.engine.topic, given.transport_url))


def _of(name: str, findings: Iterable[DoctorFinding]) -> Iterator[DoctorFinding]:
    for each in findings:
        yield replace(each, expected=_('Cell "%(name)s": %(expected)s') % {'name': name, 'expected': each.expected})


CHECKS = (
    Check('cells', _('each cell of [cells] names has a database and a broker'), are_described, unused=unused),
    Check('cell-databases', _('the database of each other cell can be reached and is of this release and key'),
          databases, ('cells', 'encryption-key'), unused),
    Check('cell-brokers', _('each host of the broker of each other cell accepts connections'), brokers, ('cells',),
          unused),
    Check('running-cells', _('engines of each other cell receive from their queue'), are_answered, ('cell-brokers',),
          unused),
)
