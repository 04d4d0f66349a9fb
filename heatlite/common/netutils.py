"""Compares networks, validates host names, and completes the URL of Keystone."""

from __future__ import annotations

import re
from collections.abc import Sequence

import netaddr

from heatlite.common.i18n import _

DNS_LABEL_MAX_LEN = 63
FQDN_MAX_LEN = 255
DNS_LABEL_REGEX = f'^[a-z0-9A-Z](?:[a-z0-9A-Z-]{{0,{DNS_LABEL_MAX_LEN - 2}}}[a-z0-9A-Z])?$'
_LABEL = re.compile(DNS_LABEL_REGEX)


def is_prefix_subset(orig_prefixes: Sequence[str], new_prefixes: Sequence[str]) -> bool:
    """Whether every network of `orig_prefixes` lies within `new_prefixes`."""
    return bool(netaddr.IPSet(orig_prefixes) <= netaddr.IPSet(new_prefixes))


def keystone_v3(url: str) -> str:
    """Return the URL of Keystone, given with or without a version, with /v3 at its end."""
    url = url.rstrip('/').removesuffix('/v2.0')
    return url if url.endswith('/v3') else f'{url}/v3'


def validate_dns_format(data: str) -> None:
    """Raise ValueError unless the name consists of valid labels (a final dot is allowed)."""
    if not data:
        return
    name = data[:-1] if data.endswith('.') else data
    if len(data) > FQDN_MAX_LEN:
        raise ValueError(_("'%(data)s' exceeds the %(max)s character FQDN limit")
                         % {'data': name, 'max': FQDN_MAX_LEN})
    labels = name.split('.')
    for label in labels:
        if not label:
            raise ValueError(_("'%s' not in valid format. Reason: Encountered an empty component.") % name)
        if not _LABEL.match(label):
            raise ValueError(_("'%(data)s' not in valid format. Reason: Name '%(label)s' must be 1-%(max)s characters "
                               'long, each of which can only be alphanumeric or a hyphen.')
                             % {'data': name, 'label': label, 'max': DNS_LABEL_MAX_LEN})
    if len(labels) > 1 and labels[-1].isdigit():
        raise ValueError(_("'%(data)s' not in valid format. Reason: TLD '%(label)s' must not be all numeric.")
                         % {'data': name, 'label': labels[-1]})
