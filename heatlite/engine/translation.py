"""Rules by which a type translates given properties: the public names for plug-in authors, and the look-up function."""

from __future__ import annotations

from collections.abc import Callable

from oslo_log import log

from heatlite.common import exception
from heatlite.language.translation import ADD, DELETE, REPLACE, RESOLVE, RULES, TranslationRule, apply

LOG = log.getLogger(__name__)

__all__ = ['ADD', 'DELETE', 'REPLACE', 'RESOLVE', 'RULES', 'TranslationRule', 'apply', 'service_lookup']


def service_lookup(ignore_errors: bool = False, is_made: Callable[[object], bool] | None = None,
                   unresolved: set[str] | None = None) -> Callable[[TranslationRule, object], object]:
    """Return the function for Resolve rules: it gets the id of a name from the rule's client plug-in, unless
    `is_made(value)` says that the value is an id.

    `ignore_errors`: return the value unchanged if the service finds no, or no unique, object of that name. Failures of
    the service are still raised: a name used as an id would then change or delete nothing. `unresolved` gets the names
    of the properties with such a value.
    """
    def lookup(rule: TranslationRule, value: object) -> object:
        if isinstance(value, dict) and rule.custom_value_path:
            for name in rule.custom_value_path:
                value = value.get(name) if isinstance(value, dict) else None
            if value is None:
                return None
        if is_made is not None and is_made(value):
            return value
        arguments = (rule.entity, value) if rule.entity else (value,)
        try:
            return getattr(rule.client_plugin, str(rule.finder))(*arguments)
        except Exception as error:
            knows_nothing = isinstance(error, exception.HeatException) or rule.client_plugin.is_not_found(error)
            if not (ignore_errors and knows_nothing):
                raise
            LOG.info('Keeping %r as it was given: %s', value, error)
            if unresolved is not None:
                unresolved.add(rule.translation_path[0])
            return value

    return lookup
