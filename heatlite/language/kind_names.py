"""The names of the kinds of data in messages, as authors of templates know them."""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.common.i18n import _


def kind_name(value: object) -> str:
    """Return the kind of a value of a template, such as `map`; not the name of its Python class."""
    match value:
        case None:
            return _('null value')
        case bool():
            return _('boolean')
        case int() | float():
            return _('number')
        case str():
            return _('string')
        case list() | tuple():
            return _('list')
        case Mapping():
            return _('map')
    return type(value).__name__
