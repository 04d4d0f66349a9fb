"""Files with the authorities that a connection to Keystone trusts, or with a certificate: one may be gone.

The libraries raise an OSError then, at each request, which is an error of the operator and not of the service.
"""

from __future__ import annotations

import logging

from heatlite.common import log_throttle

LOG = logging.getLogger(__name__)


def log_unusable(option: str, error: OSError) -> str:
    """Log that the files of an option cannot be used, and return the line. `error`: names the file."""
    reason = f'{option} has a file that cannot be used; correct it, or run heatlite-manage doctor: {error}'
    log_throttle.log(LOG, logging.ERROR, option, '%s', reason)
    return reason
