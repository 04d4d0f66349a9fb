"""Checks of the catalogue, of the APIs as clients reach them, of engines, caches and policy servers."""

from __future__ import annotations

import re
import socket
import urllib.parse
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import sqlalchemy as sa
from keystoneauth1 import exceptions
from keystoneauth1 import session as keystone_session

from heatlite.cmd.doctor import identity
from heatlite.cmd.doctor.checks import FAILED, WARNING, Check, DoctorFinding
from heatlite.cmd.doctor.site import Site
from heatlite.common import config, health
from heatlite.common.i18n import _
from heatlite.common.wording import first_few
from heatlite.db import engines
from heatlite.db.tables import resource

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

ORCHESTRATION, CLOUDFORMATION, CLOUDWATCH = 'orchestration', 'cloudformation', 'cloudwatch'
USED_ROWS = 10_000                              # resources whose types are looked at
MEMCACHED_PORT = 11211


# --- the catalogue ----------------------------------------------------------------------------------------

def endpoint(site: Site, service_type: str, interface: str = 'public') -> str | None:
    """Return the URL for clients, in the project of the service user."""
    try:
        found = site.authtoken.get_endpoint(service_type=service_type, interface=interface, allow={},
                                            region_name=site.conf.region_name_for_services)
    except exceptions.CatalogException:
        return None
    return None if found is None else str(found)


def address(site: Site, service_type: str) -> str | None:
    """Where an API is reached, from an option or from the catalogue; None: neither has it."""
    conf = site.conf
    given = {CLOUDFORMATION: conf.heat_waitcondition_server_url or conf.heat_metadata_server_url,
             CLOUDWATCH: conf.heat_watch_server_url}.get(service_type)
    return given or endpoint(site, service_type)


def path_problem(service_type: str, url: str, project_id: str) -> str:
    """Why the URL of a catalogue entry cannot be right; '' if it can."""
    path = urllib.parse.urlsplit(url).path.rstrip('/')
    if service_type == ORCHESTRATION:
        wanted = f'/v1/{project_id}'
        return '' if path.endswith(wanted) else _('%s does not end in /v1/ and the id of the project.') % url
    return '' if path.endswith('/v1') else _('%s does not end in /v1.') % url


EXAMPLES = {ORCHESTRATION: 'http://HOST:8004/v1/%(project_id)s', CLOUDFORMATION: 'http://HOST:8000/v1',
            CLOUDWATCH: 'http://HOST:8003/v1'}


def entry(site: Site, service_type: str) -> Iterator[DoctorFinding]:
    region = site.conf.region_name_for_services
    expected = _('The catalogue has an endpoint of the service "%(type)s" like %(example)s%(where)s.') % {
        'type': service_type, 'example': EXAMPLES[service_type],
        'where': _(' in the region %s') % region if region else ''}
    fix = _('heatlite-manage setup keystone (with --change, if its URL is wrong), or openstack endpoint create/set; '
            '[DEFAULT] region_name_for_services names the region.')
    url = endpoint(site, service_type)
    if url is None:
        yield DoctorFinding(expected, _('There is none.'), fix, WARNING if service_type == CLOUDWATCH else FAILED)
        return
    problem = path_problem(service_type, url, str(site.authtoken.get_project_id()))
    if problem:
        yield DoctorFinding(expected, problem, fix)


def cloudformation_unused(site: Site) -> str:
    conf = site.conf
    if conf.heat_metadata_server_url and conf.heat_waitcondition_server_url:
        return _('heat_metadata_server_url and heat_waitcondition_server_url are set')
    return identity.unused(site)


def cloudwatch_unused(site: Site) -> str:
    if site.conf.heat_watch_server_url:
        return _('heat_watch_server_url is set')
    return identity.unused(site)


def identity_entry(site: Site) -> Iterator[DoctorFinding]:
    """Clients of all services begin with the entry of Keystone itself."""
    region = site.conf.region_name_for_services
    kind = str(site.conf.clients_keystone.endpoint_type or site.conf.clients.endpoint_type).removesuffix('URL')
    if endpoint(site, 'identity', kind) is None:
        yield DoctorFinding(_('The catalogue has the service "identity", with the interface "%(kind)s"%(where)s.')
                            % {'kind': kind, 'where': _(' in the region %s') % region if region else ''},
                            _('There is none.'), _('Correct [DEFAULT] region_name_for_services or [clients_keystone] '
                                                   'endpoint_type, or add the endpoint.'))


def used_services(site: Site) -> Iterator[DoctorFinding]:
    """Yield the services of the types that the newest stacks use."""
    from heatlite.common.context import RequestContext
    from heatlite.engine import clients
    from heatlite.engine.types import registry
    newest = sa.select(resource.c.type).order_by(resource.c.created_at.desc()).limit(USED_ROWS).subquery()
    with site.database.reader() as tx:
        names = sorted(tx.execute(sa.select(newest.c.type).distinct()).scalars())
    types, context = registry.create(site.conf), RequestContext()
    missing: dict[str, list[str]] = {}
    for name in names:
        try:
            client = types.get_class(name).default_client_name
            plugin = clients.of(context).client_plugin(client) if client and client != 'heat' else None
        except Exception:                       # a type of a plug-in that is gone, or a template
            continue
        wanted = [] if plugin is None else list(plugin.service_types)
        if wanted and not any(endpoint(site, kind) for kind in wanted):
            missing.setdefault(' / '.join(wanted), []).append(name)
    for service, used_by in missing.items():
        yield DoctorFinding(_('The catalogue has the services of all resource types in use.'),
                            _('"%(service)s" is missing; it is used by %(types)s.')
                            % {'service': service, 'types': first_few(used_by, 5)},
                            _('Add the service to the catalogue, or correct [DEFAULT] region_name_for_services.'),
                            WARNING)


# --- the APIs as clients reach them -------------------------------------------------------------------------

PROGRAMS = {ORCHESTRATION: 'heatlite-api', CLOUDFORMATION: 'heatlite-api-cfn', CLOUDWATCH: 'heatlite-api-cloudwatch'}


def base(url: str) -> str:
    """Return the URL of an API without what follows its version."""
    return re.split(r'/v1(?:/|$)', url.rstrip('/'), maxsplit=1)[0]


def answers(site: Site, service_type: str) -> Iterator[DoctorFinding]:
    url = address(site, service_type)
    if url is None:
        return                                  # reported by the check of the catalogue
    place = base(url) + health.READY
    expected = _('%(program)s answers at %(url)s and is ready.') % {'program': PROGRAMS[service_type], 'url': base(url)}
    asking = keystone_session.Session(timeout=site.timeout, **config.get_ssl_options('heat'))
    start = _('Start %s, or correct the endpoint in the catalogue and the proxy before it.') % PROGRAMS[service_type]
    level = FAILED
    if service_type == CLOUDWATCH:              # without it the service works, but nothing can push metrics
        level = WARNING
        start = _('Start %s, or remove the endpoint (openstack endpoint delete) and heat_watch_server_url: servers get '
                  'its URL.') % PROGRAMS[service_type]
    try:
        answer = asking.get(place, authenticated=False, raise_exc=False, connect_retries=0)
        found = answer.json()['checks']
    except (ValueError, KeyError, TypeError):   # before OSError: that of a body which is no JSON is both
        yield DoctorFinding(expected, _('%(url)s answers %(status)d, and not as heatlite does.')
                            % {'url': place, 'status': answer.status_code}, start, level)
    except (exceptions.ClientException, OSError) as error:
        yield DoctorFinding(expected, identity.first_line(error), start, level)
    else:
        failing = [name for name, result in found.items() if result != health.OK]
        if failing:
            yield DoctorFinding(expected, _('Its checks fail: %s.') % ', '.join(failing),
                                _('Look at the log of %s, and at the other checks here.') % PROGRAMS[service_type],
                                level)


# --- engines ----------------------------------------------------------------------------------------------

def running_engines(site: Site) -> Iterator[DoctorFinding]:
    with site.database.reader() as tx:
        found = engines.page(tx)
    if not any(each.is_up for each in found):
        yield DoctorFinding(_('An engine is alive: its row in the database is renewed.'),
                            _('%d engines have registered and were not stopped, and none is alive.') % len(found),
                            _('Start heatlite-engine, and look at its log.'))


# --- others -----------------------------------------------------------------------------------------------

def caches(conf: ConfigOpts) -> list[tuple[str, str]]:
    """(option, HOST:PORT) of all memcached servers."""
    found = [('[keystone_authtoken] memcached_servers', each)
             for each in conf.keystone_authtoken.memcached_servers or ()]
    if conf.cache.enabled and 'memcache' in conf.cache.backend:
        found += [('[cache] memcache_servers', each) for each in conf.cache.memcache_servers]
    return found


def no_caches(site: Site) -> str:
    return '' if caches(site.conf) else _('no memcached is configured')


def memcached(site: Site) -> Iterator[DoctorFinding]:
    for option, server in caches(site.conf):
        host, _colon, port = server.removeprefix('inet6:').rpartition(':') if ':' in server else (server, '', '')
        host, number = host.strip('[]') or server, int(port) if port.isdigit() else MEMCACHED_PORT
        expected, fix = _('The memcached of %s answers.') % option, _('Start memcached there, or correct %s.') % option
        try:
            with closing(socket.create_connection((host, number), timeout=site.timeout)) as connection:
                connection.sendall(b'version\r\n')
                if not connection.recv(64).startswith(b'VERSION'):
                    yield DoctorFinding(expected, _('Something else answers at %s.') % server, fix, WARNING)
        except OSError as error:
            yield DoctorFinding(expected, f'{server}: {error.strerror or error}', fix, WARNING)


def no_policy_servers(site: Site) -> str:
    return '' if site.conf.plan_policies.servers else _('[plan_policies] servers is not set')


def policy_servers(site: Site) -> Iterator[DoctorFinding]:
    for url in site.conf.plan_policies.servers:
        place = urllib.parse.urlsplit(url)
        problem = site.connect(place.hostname or '', place.port or (443 if place.scheme == 'https' else 80))
        if problem:
            yield DoctorFinding(_('Each server of [plan_policies] servers accepts connections.'), problem,
                                _('Start it, or correct [plan_policies] servers.'),
                                WARNING if site.conf.plan_policies.fail_open else FAILED)


USER = ('keystone-user',)
CHECKS = (
    Check('catalogue-identity', _('the catalogue has Keystone in this region'), identity_entry, USER, identity.unused),
    Check('catalogue-orchestration', _('the catalogue has the orchestration API'),
          partial(entry, service_type=ORCHESTRATION), USER, identity.unused),
    Check('catalogue-cloudformation', _('the catalogue has the CloudFormation API'),
          partial(entry, service_type=CLOUDFORMATION), USER, cloudformation_unused),
    Check('catalogue-cloudwatch', _('the catalogue has the CloudWatch API'), partial(entry, service_type=CLOUDWATCH),
          USER, cloudwatch_unused),
    Check('catalogue-services', _('the catalogue has the services of the types in use'), used_services,
          ('keystone-user', 'database-schema', 'plug-ins'), identity.unused),
    Check('memcached', _('each memcached answers'), memcached, unused=no_caches),
    Check('policy-servers', _('each server of [plan_policies] accepts connections'), policy_servers,
          unused=no_policy_servers),
    Check('running-engines', _('an engine is alive'), running_engines, ('database-schema',)),
    Check('running-orchestration', _('the orchestration API answers at its endpoint'),
          partial(answers, service_type=ORCHESTRATION), ('catalogue-orchestration',), identity.unused),
    Check('running-cloudformation', _('the CloudFormation API answers at its endpoint'),
          partial(answers, service_type=CLOUDFORMATION), USER, identity.unused),
    Check('running-cloudwatch', _('the CloudWatch API answers at its endpoint'),
          partial(answers, service_type=CLOUDWATCH), USER, identity.unused),
)
