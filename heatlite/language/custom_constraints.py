"""Custom constraints that need no service.

`builtin` gives them by name; the clock and the time zones they need are passed in.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from heatlite.common.i18n import _
from heatlite.common.json_values import loads
from heatlite.language.constraints import BaseCustomConstraint, shown

Check = Callable[[object], None]
"""Raises ValueError; its text is the detail of the message, empty for none. It shows values shortened (`shown`)."""

MAC = re.compile(r'([0-9a-f]{1,2}([:-])[0-9a-f]{1,2}(\2[0-9a-f]{1,2}){4}'
                 r'|([0-9a-f]{1,4}\.){2}[0-9a-f]{1,4}|[0-9a-f]{12})', re.IGNORECASE)
LABEL = re.compile(r'[a-z0-9-]{1,63}', re.IGNORECASE)
LONGEST_NAME = 255
LONGEST_EXPRESSION = 255        # characters of a cron expression, or of the name of a time zone

CRON_FIELDS = (('minute', 0, 59), ('hour', 0, 23), ('day', 1, 31), ('month', 1, 12), ('day of week', 0, 7),
               ('second', 0, 59), ('year', 1970, 2099))
CRON_NAMES = {3: ('jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'),
              4: ('sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat')}
CRON_ALIASES = ('@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually')
CRON_PART = re.compile(r'(?P<low>\*|\?|l|\w+)(?:-(?P<high>\w+))?(?:/(?P<step>\d+))?(?:#[1-5l])?', re.IGNORECASE)


class PureConstraint(BaseCustomConstraint):
    """A custom constraint that is a function of the value."""

    def __init__(self, check: Check) -> None:
        self.check = check

    def validate(self, value: object, context: object = None) -> bool:
        try:
            self.check(value)
        except (ValueError, TypeError) as error:
            self._error_message = str(error) or None
            return False
        return True


def builtin(now: Callable[[], datetime], zone: Callable[[str], object]) -> Mapping[str, Callable[[], PureConstraint]]:
    """Factories of the constraints by name. `now`: with a time zone; `zone` raises KeyError for an unknown name."""
    checks: dict[str, Check] = {
        'ip_addr': ip_addr, 'mac_addr': mac_addr, 'net_cidr': net_cidr, 'ip_or_cidr': ip_or_cidr,
        'dns_name': dns_name, 'rel_dns_name': rel_dns_name, 'dns_domain': dns_domain, 'iso_8601': iso_8601,
        'cron_expression': cron_expression, 'json_string': json_string, 'test_constr': lambda value: None,
        'timezone': lambda value: time_zone(value, zone), 'expiration': lambda value: expiration(value, now())}
    return {name: _maker(check) for name, check in checks.items()}


def _maker(check: Check) -> Callable[[], PureConstraint]:
    return lambda: PureConstraint(check)


def ip_addr(value: object) -> None:
    try:
        ipaddress.ip_address(value if isinstance(value, str) else str(value))
    except ValueError:
        raise ValueError(_('Invalid IP address')) from None


def mac_addr(value: object) -> None:
    if not isinstance(value, str) or not MAC.fullmatch(value):
        raise ValueError(_('Invalid MAC address.'))


def net_cidr(value: object) -> None:
    text = str(value)
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        text = f'invalid IPNetwork {shown(text)}'
    else:
        prefix = text.partition('/')[2]         # Neutron takes no mask instead of it
        if prefix == str(network.prefixlen) or (prefix and network.version == 6):
            return
    raise ValueError(_(
        'Invalid net cidr %s (expected an address with the length of its prefix, such as 10.0.0.0/24)') % shown(text))


def ip_or_cidr(value: object) -> None:
    if '/' in str(value):
        net_cidr(value)
        return
    try:
        ip_addr(value)
    except ValueError:
        raise ValueError(_("'%s' is not a valid IP address") % shown(value)) from None


def _check_name(value: str, *, strict: bool = False) -> None:
    if len(value) > LONGEST_NAME:
        raise ValueError(_("'%(name)s' exceeds the %(limit)d character limit")
                         % {'name': shown(value), 'limit': LONGEST_NAME})
    trimmed = value.removesuffix('.')
    labels = trimmed.split('.')
    for label in labels:
        if not label:
            raise ValueError(_('Encountered an empty component.'))
        if label.startswith('-') or label.endswith('-'):
            raise ValueError(_("Name '%s' must not start or end with a hyphen.") % label)
        if not LABEL.fullmatch(label):
            raise ValueError(_("Name '%s' must be 1-63 characters long, each of which can only be alphanumeric or "
                               "a hyphen.") % label)
    if len(labels) > 1 and labels[-1].isdigit():
        raise ValueError(_("TLD '%s' must not be all numeric.") % labels[-1])


def _named(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(_("'%s' is not a string") % shown(value))
    try:
        _check_name(value)
    except ValueError as error:
        raise ValueError(_("'%(name)s' not in valid format. Reason: %(reason)s")
                         % {'name': shown(value), 'reason': error}) from None
    return value


def dns_name(value: object) -> None:
    _named(value)


def rel_dns_name(value: object) -> None:
    if not value:
        return
    if str(value).endswith('.'):
        raise ValueError(_("'%s' is a FQDN. It should be a relative domain name.") % shown(value))
    if len(_named(value)) > LONGEST_NAME - 3:
        raise ValueError(_("'%(name)s' exceeds the %(limit)d character limit")
                         % {'name': shown(value), 'limit': LONGEST_NAME - 3})


def dns_domain(value: object) -> None:
    if not value:
        return
    if not _named(value).endswith('.'):
        raise ValueError(_("'%s' must end with '.'.") % shown(value))


def iso_8601(value: object) -> None:
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError('') from None


def expiration(value: object, now: datetime) -> None:
    if not value:
        return
    try:
        moment = datetime.fromisoformat(str(value).strip())
    except ValueError as error:
        raise ValueError(_('Expiration %(value)s is invalid: %(reason)s')
                         % {'value': shown(value), 'reason': shown(error)}) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if moment <= now:
        raise ValueError(_('Expiration %(value)s is invalid: %(reason)s')
                         % {'value': shown(value), 'reason': _('Expiration time is out of date.')})


def json_string(value: Any) -> None:
    if not value:
        return
    try:
        loads(value) if isinstance(value, str) else json.loads(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(_('JSON string %(value)s is invalid: %(reason)s')
                         % {'value': shown(value), 'reason': shown(error)}) from None


def _short(text: str) -> str:
    if len(text) > LONGEST_EXPRESSION:
        raise ValueError(_('%(text)s has more than %(limit)d characters')
                         % {'text': shown(text), 'limit': LONGEST_EXPRESSION})
    return text


def time_zone(value: object, zone: Callable[[str], object]) -> None:
    if not value:
        return
    try:
        zone(_short(str(value)))
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(_('Invalid timezone: %s') % error) from None


def cron_expression(value: object) -> None:
    if not value:
        return
    try:
        _check_cron(_short(str(value)))
    except ValueError as error:
        raise ValueError(_('Invalid CRON expression: %s') % error) from None


def _check_cron(text: str) -> None:
    if text.lower() in CRON_ALIASES:
        return
    columns = text.split()
    if len(columns) not in (5, 6, 7):
        raise ValueError(_('Exactly 5, 6 or 7 columns has to be specified for iterator expression.'))
    for position, column in enumerate(columns):
        for part in column.split(','):
            _check_cron_part(part, position, text)


def _check_cron_part(part: str, position: int, text: str) -> None:
    if not _is_cron_part(part, position):
        raise ValueError(_('[%(text)s] is not acceptable: %(part)s for %(field)s')
                         % {'text': text, 'part': part, 'field': CRON_FIELDS[position][0]})


def _is_cron_part(part: str, position: int) -> bool:
    found = CRON_PART.fullmatch(part)
    if found is None or (found['step'] is not None and int(found['step']) == 0):
        return False
    return all(_is_cron_bound(bound, position) for bound in (found['low'], found['high']) if bound is not None)


def _is_cron_bound(bound: str, position: int) -> bool:
    if bound.lower() in ('*', '?', 'l', *CRON_NAMES.get(position, ())):
        return True
    _name, lowest, highest = CRON_FIELDS[position]
    return bound.isdecimal() and lowest <= int(bound) <= highest
