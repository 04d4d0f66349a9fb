"""How the types reach QingCloud: options, one signed call, and what its errors mean to a caller."""

import functools
import http.client
import urllib.parse

from heat.common import exception
from heat.common.i18n import _
from heat.engine import constraints, properties
from oslo_config import cfg

try:
    from qingcloud.iaas import APIConnection, errors
except ImportError:                         # then there are no types
    APIConnection = object

GROUP = 'twofellows'
OPTIONS = [
    cfg.StrOpt('access_key_id', help='Name of the API key that all stacks use.'),
    cfg.StrOpt('secret_access_key', secret=True, help='What requests are signed with.'),
    cfg.StrOpt('zone', help='Zone of resources that name none, such as pek3.'),
    cfg.URIOpt('endpoint', schemes=['http', 'https'], default='https://api.qingcloud.com/iaas/',
               help='URL of the API.'),
    cfg.IntOpt('timeout', min=1, default=30, help='Seconds to wait for one answer.'),
]
cfg.CONF.register_opts(OPTIONS, group=GROUP)

PERMISSION_DENIED, NOT_FOUND, INTERNAL_ERROR = 1400, 2100, 5000
MEANINGS = {1100: 'malformed request', 1200: 'authentication failed', 1300: 'expired, check the clock',
            PERMISSION_DENIED: 'permission denied', NOT_FOUND: 'no such resource', 2400: 'insufficient balance',
            2500: 'quota exceeded', 5200: 'insufficient resources', 5100: 'server busy', 5300: 'under maintenance'}
TRY_LATER = (5100, 5300)
SECRETS = ('login_passwd',)                 # parameters that no message may repeat


class Refused(exception.HeatException):
    """QingCloud said no: nothing was done."""

    msg_fmt = _('QingCloud refused %(call)s: %(message)s (%(code)s, %(meaning)s)')


class NotFound(Refused, exception.EntityNotFound):
    """What the call is about does not exist."""


class NotNow(Refused):
    """Nothing was done, but the same call may succeed later: the service is busy, or the resource in transition."""


class Unanswered(exception.HeatException):
    """Nobody knows whether the call was carried out."""

    msg_fmt = _('QingCloud did not answer %(call)s: %(why)s')


def is_available():
    return APIConnection is not object


class Connection(APIConnection):
    """The SDK's, one request per socket: what was sent over one the other side has just closed may have been done."""

    def build_http_request(self, verb, url, base_params, auth_path=None, headers=None, host=None, data=''):
        return super().build_http_request(verb, url, base_params, auth_path, {**(headers or {}), 'Connection': 'close'},
                                          host, data)


def connection(zone):
    options = cfg.CONF[GROUP]
    if not (options.access_key_id and options.secret_access_key):   # else the SDK asks the metadata service for them
        raise exception.Error(_('[twofellows] access_key_id and secret_access_key are not set.'))
    if not (zone or options.zone):
        raise exception.Error(_('Neither the property zone nor [twofellows] zone is set.'))
    endpoint = urllib.parse.urlsplit(options.endpoint)
    # One attempt: the SDK's retries would make a second server when the answer to the first request is lost.
    return Connection(options.access_key_id, options.secret_access_key, zone or options.zone, endpoint.hostname,
                      endpoint.port or (443 if endpoint.scheme == 'https' else 80), endpoint.scheme,
                      retry_time=1, http_socket_timeout=options.timeout)


def ask(zone, call, **parameters):
    """The answer to `call`, a method of the SDK's connection. Raises NotFound, NotNow, Refused, Unanswered."""
    asked = getattr(connection(zone), call)
    try:
        answer = asked(**parameters)
    except errors.InvalidParameterError:    # its text is the whole request
        raise exception.Error(_('The parameters of %s are wrong.') % call) from None
    except (OSError, http.client.HTTPException, AttributeError) as error:   # AttributeError: the SDK met no JSON
        raise Unanswered(call=call, why=type(error).__name__) from None
    if not isinstance(answer, dict) or answer.get('ret_code') in (None, INTERNAL_ERROR):
        raise Unanswered(call=call, why=_('internal error'))
    if answer['ret_code'] != 0:
        raise refusal(call, parameters, answer['ret_code'], str(answer.get('message', '')))
    return answer


def refusal(call, parameters, code, message):
    if code == NOT_FOUND:
        kind = NotFound
    elif code in TRY_LATER or (code == PERMISSION_DENIED and 'try later' in message):
        kind = NotNow
    else:
        kind = Refused
    for secret in SECRETS:
        if parameters.get(secret):
            message = message.replace(parameters[secret], '***')
    return kind(call=call, message=message, code=code, meaning=MEANINGS.get(code, 'error'))


def described(zone, call, kind, resource_id):
    """What `call` says of one resource: `kind` is 'instance', 'eip' or 'keypair'. Raises NotFound."""
    found = ask(zone, call, verbose=1, **{f'{kind}s': [resource_id]})[f'{kind}_set']
    if not found:
        raise NotFound(call=call, message=resource_id, code=NOT_FOUND, meaning=MEANINGS[NOT_FOUND])
    return found[0]


def check_job(zone, job_id):
    """Raises Error when the job has failed. Most changes are jobs; that they are done shows at the resource."""
    if job_id:
        for job in ask(zone, 'describe_jobs', jobs=[job_id])['job_set']:
            if 'fail' in job['status']:
                raise exception.Error(_('The job %(job)s of QingCloud, %(action)s, has failed.') % {
                    'job': job_id, 'action': job.get('job_action')})


def patient(check):
    """For checks that start by looking: while QingCloud cannot answer, the answer is "not yet"."""
    @functools.wraps(check)
    def checked(self, *handle):
        try:
            return check(self, *handle)
        except (NotNow, Unanswered):
            return False
    return checked


def zone_property():
    return properties.Schema(properties.Schema.STRING, _('Zone, such as pek3. Default: that of the configuration.'),
                             constraints=[constraints.CustomConstraint('twofellows.zone')])


class Zone(constraints.BaseCustomConstraint):
    """The name of a zone that is in service."""

    expected_exceptions = (exception.EntityNotFound,)

    def validate_with_client(self, _clients, name):
        zones = ask(cfg.CONF[GROUP].zone or name, 'describe_zones')['zone_set']
        if not any(zone['zone_id'] == name and zone['status'] == 'active' for zone in zones):
            raise exception.EntityNotFound(entity='Zone', name=name)


def constraint_mapping():
    return {'twofellows.zone': Zone}
