"""Texts about types, properties, functions, parameters and attributes, as Markdown; those of types as `--explain` has
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import yaml

from heatlite.authoring import explaining
from heatlite.common.i18n import _
from heatlite.editing.outline import PARAMETER, Outline
from heatlite.editing.tree import DocumentNode
from heatlite.engine.resources import packed
from heatlite.language.schema import Schema

LONGEST_VALUE = 200                     # characters of a default that is shown


def of_type(name: str) -> str:
    """Return the description of a built-in type, its required properties and its attributes."""
    facts = packed.facts(name)
    lines = [f'**{name}**', '', facts.get('description') or '', *status(facts['support_status'])]
    required = [key for key, schema in packed.properties(name).items() if schema.required]
    for title, names in ((_('Required properties'), required), (_('Attributes'), list(facts.get('attributes', {})))):
        if names:
            lines += ['', f'{title}: {", ".join(f"`{each}`" for each in names)}']
    return '\n'.join(lines)


def status(body: Mapping[str, object]) -> Iterator[str]:
    if body.get('status', 'SUPPORTED') != 'SUPPORTED':
        yield ''
        yield f'{_("Status")}: {body["status"]}' + (f'; {body["message"]}' if body.get('message') else '')
    if body.get('hidden'):
        yield ''
        yield _('Hidden: kept for old templates')


def of_property(schema: Schema, type_name: str, path: Iterable[str]) -> str:
    names = list(path)
    lines = list(explaining.about(schema, type_name, names))
    return f'**{names[-1]}**\n\n' + '  \n'.join(lines).replace('  \n  \n', '\n\n')


def of_policy(schema: Schema, name: str) -> str:
    return '\n\n'.join(filter(None, (f'**{name}**', schema.description, f'{_("Type")}: {explaining.kind(schema)}',
                                     *explaining.constraints(schema))))


def of_attribute(name: str, body: packed.AttributeFacts) -> str:
    return '\n\n'.join(filter(None, (f'**{name}** ({_("attribute")})', body.get('description'),
                                     f'{_("Type")}: {body.get("type") or _("any")}')))


def of_function(outline: Outline, name: str) -> str:
    implementation = outline.edition.usable.get(name) or outline.edition.condition_functions.get(name)
    summary = (implementation.__doc__ or '').split('\n')[0] if implementation is not None else ''
    return f'**{name}** ({outline.edition.name})\n\n{summary}'


def of_declared(outline: Outline, kind: str, name: str) -> str:
    """Return a parameter with what its definition says, a resource with its type, a condition or output as it is
    written."""
    node = outline.declared(kind).get(name)
    if node is None:
        return ''
    title = f'**{name}** ({kind})'
    if kind == PARAMETER:
        wanted = [(key.value, value) for key, value in node.entries if key.kind == 'scalar']
        said = [f'{key}: {value.value}'[:LONGEST_VALUE] if value.kind == 'scalar' else f'{key}: {shown(outline, value)}'
                for key, value in wanted]
        return '  \n'.join([title, '', *said]).replace('  \n  \n', '\n\n')
    type_name = outline.type_of(name) if kind == 'resource' else None
    if type_name is not None:
        return f'{title}\n\n{_("Type")}: `{type_name}`'
    return f'{title}\n\n```yaml\n{shown(outline, node)}\n```'


def shown(outline: Outline, node: DocumentNode) -> str:
    """Return the text of a node, shortened."""
    text: str = outline.text[node.start:node.end]
    return text if len(text) <= LONGEST_VALUE else f'{text[:LONGEST_VALUE]} ...'


def example(schema: Schema) -> str:
    """Return a value of the right form in one line of YAML."""
    written: str = yaml.safe_dump(explaining.value_of(schema), default_flow_style=True, width=10_000)
    return written.strip().removesuffix('...').strip()
