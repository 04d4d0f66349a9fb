"""Plain data from texts, and the limits of its size: what the language takes of the modules that read documents."""

from heatlite.common.document_size import check_size, measure
from heatlite.common.template_format import read
from heatlite.common.yaml_reading import DocumentError, EventParser, clean, key_text, plain_value, read_yaml, readers

__all__ = ['DocumentError', 'EventParser', 'check_size', 'clean', 'key_text', 'measure', 'plain_value', 'read',
           'read_yaml', 'readers']
