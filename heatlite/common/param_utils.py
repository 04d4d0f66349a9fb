"""Checks and converts values of request parameters. All raise ValueError with a text for the caller."""

from __future__ import annotations

from heatlite.common.i18n import _

TRUE, FALSE = 'true', 'false'
CFN, HOT = 'cfn', 'hot'


def delim_string_to_list(value: str | None) -> list[str] | None:
    """Convert `a,b` to [a, b]; None stays None, an empty text is an empty list."""
    if value is None:
        return None
    return value.split(',') if value else []


def extract_bool(name: str, value: object) -> bool:
    if str(value).lower() not in (TRUE, FALSE):
        raise ValueError(_('Unrecognized value "%(value)s" for "%(name)s", acceptable values are: true, false')
                         % {'value': value, 'name': name})
    return str(value).lower() == TRUE


def extract_int(name: str, value: object, allow_zero: bool = True, allow_negative: bool = False) -> int | None:
    """Convert a text to an integer; None stays None."""
    if value is None:
        return None
    wrong = ValueError(_("Only integer is allowed as value of '%(name)s': found '%(value)s'")
                       % {'name': name, 'value': value})
    if isinstance(value, bool) or not str(value).lstrip('-').isdigit():
        raise wrong
    number = int(str(value))
    if (number == 0 and not allow_zero) or (number < 0 and not allow_negative):
        raise ValueError(_("Value '%(value)s' is invalid for '%(name)s'")
                         % {'name': name, 'value': value})
    return number


def extract_tags(subject: str) -> list[str]:
    """Split comma separated tags of at most 80 characters each."""
    tags = subject.split(',')
    for tag in tags:
        if len(tag) > 80:
            raise ValueError(_('Invalid tag, "%s" is longer than 80 characters') % tag)
    return tags


def extract_template_type(subject: str) -> str:
    """Return `cfn` or `hot`, given in any case."""
    kind = subject.lower()
    if kind not in (CFN, HOT):
        raise ValueError(_('Invalid template type "%(value)s", valid types are: cfn, hot.') % {'value': subject})
    return kind
