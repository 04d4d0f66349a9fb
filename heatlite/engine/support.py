"""The support status of a type, a property or an attribute: the public names for plug-in authors."""

from __future__ import annotations

from heatlite.language.support import (
    DEPRECATED,
    HIDDEN,
    STATUSES,
    SUPPORTED,
    UNKNOWN,
    UNSUPPORTED,
    SupportStatus,
    is_valid_status,
)

SUPPORT_STATUSES = STATUSES
PROTOTYPE = 'PROTOTYPE'                     # a status of old plug-ins; reads as UNKNOWN

__all__ = ['DEPRECATED', 'HIDDEN', 'PROTOTYPE', 'SUPPORTED', 'SUPPORT_STATUSES', 'UNKNOWN', 'UNSUPPORTED',
           'SupportStatus', 'is_valid_status']
