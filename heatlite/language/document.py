"""Plain data: how texts become it, and how far it may go. The reading itself is `common.template_format`."""

from heatlite.common.template_format import (
    DocumentError,
    check_size,
    clean,
    key_text,
    measure,
    plain_value,
    read,
    read_yaml,
    readers,
    text_keys,
)

__all__ = ['DocumentError', 'check_size', 'clean', 'key_text', 'measure', 'plain_value', 'read', 'read_yaml', 'readers',
           'text_keys']
