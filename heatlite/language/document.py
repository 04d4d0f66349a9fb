"""Plain data from texts, and the limits of its size. The parser is in `common.template_format`."""

from heatlite.common.template_format import (
    DocumentError,
    EventParser,
    check_size,
    clean,
    key_text,
    measure,
    plain_value,
    read,
    read_yaml,
    readers,
)

__all__ = ['DocumentError', 'EventParser', 'check_size', 'clean', 'key_text', 'measure', 'plain_value', 'read',
           'read_yaml', 'readers']
