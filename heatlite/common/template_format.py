"""Parses text to plain data: JSON, or YAML 1.1. Text has no lone surrogates, and its size is bounded.

Plug-ins import the names below.
"""

from __future__ import annotations

import yaml

from heatlite.common import recursion
from heatlite.common.document_size import check_size
from heatlite.common.i18n import _
from heatlite.common.json_values import Unfit, loads
from heatlite.common.limits import USUAL, Bounds, too_large
from heatlite.common.yaml_reading import ROOT, DocumentError, document_error, read_yaml, yaml_loader
from heatlite.common.yaml_writing import convert_json_to_yaml, yaml_dumper

__all__ = ['VERSION_KEYS', 'convert_json_to_yaml', 'parse', 'read', 'simple_parse', 'yaml', 'yaml_dumper',
           'yaml_loader']

VERSION_KEYS = ('heat_template_version', 'AWSTemplateFormatVersion', 'HeatTemplateFormatVersion')

recursion.allow()                       # documents are walked and stored as JSON by recursion


def parse(text: str, url: str | None = None, limits: Bounds = USUAL) -> dict[str, object]:
    """Parse a template. Raises ValueError (DocumentError) with the text that clients expect, RequestLimitExceeded.

    It must have a version key, with any value. `url` names it in errors.
    """
    document = simple_parse(text, url, limits)
    if not any(key in document for key in VERSION_KEYS):
        raise DocumentError(_('Template format version not found.'))
    return document


def simple_parse(text: str, url: str | None = None, limits: Bounds = USUAL) -> dict[str, object]:
    """Parse as `parse`, but require no version. An empty text is an empty map."""
    if 0 <= limits.max_size < len(text):
        raise too_large(len(text), limits.max_size)
    document = read(text, url or ROOT, limits)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise DocumentError(_('The template is not a JSON object or YAML mapping.'))
    return document


def read(text: str, source: str, limits: Bounds, *, try_json: bool = True) -> object:
    """Parse a text. Raises DocumentError; RequestLimitExceeded when it nests or expands too far.

    `source` names the document in errors. A text that fails as JSON is read as YAML.
    """
    if try_json:
        try:
            document = loads(text)
        except Unfit as error:
            raise document_error(source, error) from None
        except (ValueError, RecursionError):
            pass
        else:
            return check_size(document, limits)
    return check_size(read_yaml(text, source, limits), limits)
