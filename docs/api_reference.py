"""Makes the reference page of the REST API from its OpenAPI document, each time the documentation is built.

Source: `heatlite.api.openapi`. The page stands beside the others (docs/users/api-reference.rst) and is not in version
control.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PAGE = 'users/api-reference.rst'
INTRODUCTION = """\
The REST API, call by call
==========================

Paths follow the endpoint ``http://host:8004/v1``; requests carry ``X-Auth-Token``. The same document for programs is
``GET /v1/openapi.json``. Keys in **bold** are always there, or must be sent. Each call may also answer with ``401``
(no token, or one that is not valid) and with an error document (``Fault``).

"""

Json = Mapping[str, Any]


class Reference:
    """The page of one document."""

    def __init__(self, document: Json) -> None:
        self._document = document
        self._shapes: Json = document['components']['schemas']
        self._methods = {'get', 'post', 'put', 'patch', 'delete'}

    def text(self) -> str:
        return INTRODUCTION + '\n'.join(self._lines()) + '\n'

    def _lines(self) -> Iterator[str]:
        by_tag: dict[str, list[tuple[str, str, Json]]] = {}
        for path, methods in self._document['paths'].items():
            for method, operation in methods.items():
                if method in self._methods:
                    by_tag.setdefault(operation['tags'][0], []).append((method, path, operation))
        for tag, operations in by_tag.items():
            yield from heading(tag.replace('_', ' ').capitalize(), '-')
            for method, path, operation in operations:
                yield from self._operation(method, path, operation)
        yield from heading('Objects', '-')
        for name, shape in self._shapes.items():
            yield from heading(name, '~')
            yield from self._shape(shape)

    def _operation(self, method: str, path: str, operation: Json) -> Iterator[str]:
        yield from heading(f"{method.upper()} {path.replace('/{tenant_id}', '/PROJECT', 1)}", '~')
        yield operation['summary'] + '.'
        yield ''
        for place, title in (('query', 'Query:'), ('header', 'Headers:')):
            given = [each for each in operation['parameters'] if each['in'] == place]
            if given:
                yield title
                yield ''
                for each in given:
                    about = f". {each['description']}." if 'description' in each else ''
                    yield f"- ``{each['name']}``: {self._kind(each['schema'])}{about}"
                yield ''
        if 'requestBody' in operation:
            body = operation['requestBody']
            optional = '' if body['required'] else ' (optional)'
            yield f"Body{optional}: {self._kind(body['content']['application/json']['schema'])}"
            yield ''
        for status, answer in operation['responses'].items():
            if not status.endswith('XX') and status != '401':
                shape = answer.get('content', {}).get('application/json', {}).get('schema')
                yield f"Answer: ``{status}``" + (f' with {self._kind(shape)}' if shape else '')
        yield ''

    def _shape(self, shape: Json) -> Iterator[str]:
        if 'description' in shape:
            yield f"{shape['description']}."
            yield ''
        if 'properties' not in shape:
            kind = self._kind(shape)
            yield f'{kind[:1].upper()}{kind[1:]}.'
            yield ''
            return
        yield from self._properties(shape, '')
        yield ''

    def _properties(self, shape: Json, indent: str) -> Iterator[str]:
        required = shape.get('required', ())
        for name, each in shape['properties'].items():
            shown = f'**{name}**' if name in required else f'``{name}``'
            about = f"; {each['description']}" if each.get('description') else ''
            yield f'{indent}- {shown}: {self._kind(each)}{about}'
            if 'properties' in each:
                yield ''
                yield from self._properties(each, f'{indent}  ')
                yield ''

    def _kind(self, schema: Json) -> str:
        """Return a schema as a short phrase."""
        if '$ref' in schema:
            name = schema['$ref'].rpartition('/')[2]
            return f'`{name}`_'
        for several in ('anyOf', 'oneOf'):
            if several in schema:
                return ' or '.join(dict.fromkeys(self._kind(each) for each in schema[several]))
        if 'enum' in schema:
            return ' or '.join(f'``{each}``' for each in schema['enum'])
        if 'const' in schema:
            return f"``{schema['const']}``"
        kinds = schema.get('type', 'any value')
        if isinstance(kinds, str):
            kinds = [kinds]
        words = []
        for kind in kinds:
            if kind == 'array' and schema.get('items'):
                words.append(f"list of {self._kind(schema['items'])}")
            elif kind == 'object' and schema.get('additionalProperties'):
                words.append(f"object of {self._kind(schema['additionalProperties'])}"
                             if isinstance(schema['additionalProperties'], Mapping) else 'object')
            else:
                words.append(kind)
        limits = [f'{word} {schema[key]}' for key, word in (
            ('minimum', 'at least'), ('maximum', 'at most'), ('maxLength', 'length at most')) if key in schema]
        if 'pattern' in schema:
            limits.append(f"pattern ``{schema['pattern']}``")
        return ' or '.join(words) + (f" ({', '.join(limits)})" if limits else '')


def heading(title: str, underline: str) -> Iterator[str]:
    yield title
    yield underline * len(title)
    yield ''


def write(app: Sphinx) -> None:
    """Write the page, unless it is the same as before, so that Sphinx need not read it again."""
    from heatlite.api import openapi, routes
    page, text = Path(app.srcdir, PAGE), Reference(openapi.document(routes.TABLE)).text()
    if not page.exists() or page.read_text(encoding='utf-8') != text:
        page.write_text(text, encoding='utf-8')


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect('builder-inited', write)
    return {'parallel_read_safe': True}
