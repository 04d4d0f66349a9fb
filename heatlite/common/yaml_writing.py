"""Writes plain data as YAML."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Final

import yaml

from heatlite.common import exception, turns
from heatlite.common.document_size import UNBOUNDED, measure
from heatlite.common.i18n import _
from heatlite.common.json_values import loads
from heatlite.common.limits import MOST_WRITTEN

WIDTH: Final = 120                      # characters of a line of a template


def dumped(value: object, what: str) -> str:
    """Write a value for a service as YAML, keys sorted, maps and lists in blocks. `what`: names it in the error. Raises
    RequestLimitExceeded beyond MOST_WRITTEN: the writer is one call, in which no other green thread runs."""
    size = measure(value, UNBOUNDED)
    if size > MOST_WRITTEN:
        raise exception.RequestLimitExceeded(_('%(what)s has more than %(limit)d values (of 16 characters each).')
                                             % {'what': what, 'limit': MOST_WRITTEN})
    turns.spend(size)
    written: str = yaml.dump(value, Dumper=_Writer, default_flow_style=False)
    return written


def template_text(document: Mapping[str, object]) -> str:
    """Write a template as YAML, keys in their order; each resource by a call of its own, for turns in between."""
    resources = document.get('resources')
    if not isinstance(resources, Mapping) or not resources:
        return _in_order(document)
    parts = [_in_order({name: section for name, section in document.items() if name != 'resources'}), 'resources:\n']
    parts += [textwrap.indent(_in_order({name: body}), '  ') for name, body in resources.items()]
    return ''.join(parts)


def _in_order(value: Mapping[str, object]) -> str:
    written: str = yaml.dump(dict(value), Dumper=_WithoutAliases, sort_keys=False, default_flow_style=False,
                             width=WIDTH, allow_unicode=True)
    return written


class _Writer(yaml.CSafeDumper):  # type: ignore[misc]
    """Spends a turn for each value before the text is written."""

    def represent_data(self, data: object) -> yaml.Node:
        turns.spend()
        return super().represent_data(data)


class _WithoutAliases(_Writer):
    """Repeats what is shared: the parts of one text cannot have the same anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


class yaml_dumper(_Writer):
    """Writes texts of several lines as blocks."""


def _text_block(dumper: yaml.SafeDumper, text: str) -> object:
    style = '|' if '\n' in text else None
    return dumper.represent_scalar('tag:yaml.org,2002:str', text, style=style)


yaml_dumper.add_representer(str, _text_block)


def convert_json_to_yaml(json_text: str) -> str:
    """Convert a template from JSON to YAML, keys in their order. Raises ValueError."""
    written: str = yaml.dump(loads(json_text), Dumper=yaml_dumper, sort_keys=False, default_flow_style=False,
                             allow_unicode=True)
    return written
