"""Support status of types, properties and attributes: the releases in which something is supported."""

from __future__ import annotations

STATUSES = (UNKNOWN, SUPPORTED, DEPRECATED, UNSUPPORTED, HIDDEN) = (
    'UNKNOWN', 'SUPPORTED', 'DEPRECATED', 'UNSUPPORTED', 'HIDDEN')


class SupportStatus:
    """A status with its message, its first release, and the previous status.

    An unknown status becomes UNKNOWN with a message, so that a plug-in's typing error does not prevent its loading.
    `substitute_class`: the class that takes over existing resources of a replaced one.
    """

    def __init__(self, status: str = SUPPORTED, message: str | None = None, version: str | None = None,
                 previous_status: SupportStatus | None = None, substitute_class: type | None = None) -> None:
        if status not in STATUSES:
            status, version, previous_status = UNKNOWN, None, None
            message = 'Specified status is invalid, defaulting to UNKNOWN'
        self.status = status
        self.message = message
        self.version = version
        self.previous_status = previous_status
        self.substitute_class = substitute_class

    def to_dict(self) -> dict[str, object]:
        previous = self.previous_status
        return {'status': self.status, 'message': self.message, 'version': self.version,
                'previous_status': previous.to_dict() if previous is not None else None}

    def is_substituted(self, substitute_class: object) -> bool:
        return self.substitute_class is not None and substitute_class is self.substitute_class


def is_valid_status(status: object) -> bool:
    return status in STATUSES


def status_of(given: object) -> SupportStatus:
    """Return the status of a schema from what a plug-in has passed: also only its name, or, by mistake, another
    text."""
    if isinstance(given, SupportStatus):
        return given
    return SupportStatus(str(given)) if given in STATUSES else SupportStatus()
