"""Makes a reference page for each resource type, each time the documentation is built.

Sources: the catalogue and its texts (heatlite/engine/resources/catalogue), the class of the type, and the examples that
tests execute (`docs/type_examples.py`). The pages stand in docs/users/types and are not in version control.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx

FOLDER = 'users/types'
INDEX = """\
Resource types
==============
Each type on a page of its own: what it is for, its properties and attributes, and an example that a test executes.
``openstack orchestration resource type show TYPE`` and the console show the same texts. Types whose services do not
exist any more are on `a page of their own <../former-types.rst>`_.

"""
MARKUP = re.compile(r'([\\*`|_<>]|:(?=\S))')   # a colon within a word could make it a URL
SHOWN_VALUES = 16                           # of a list of allowed values
PLACEHOLDER = 'placeholder'
REFERENCES = {                              # kind of the reference in the catalogue -> what get_resource returns
    'physical_id': 'the physical id', 'physical_name': 'the physical name', 'resource_name': 'the name of the resource',
    'signal_url': 'the URL to which signals are sent', 'stack_arn': 'the ARN of the nested stack',
    'output_or_stack_arn': 'its output ``OS::stack_id`` if it has one, otherwise the ARN of the nested stack',
    'ip_address': 'the IP address', 'value': 'the id of the server',
    'property_or_physical_name': 'its name'}

CONSTRAINTS = {                             # custom constraints that do not name an object of a service
    'ip_addr': 'an IP address', 'net_cidr': 'a CIDR', 'ip_or_cidr': 'an IP address or a CIDR',
    'mac_addr': 'a MAC address', 'dns_name': 'a DNS name', 'rel_dns_name': 'a DNS name without a dot at its end',
    'dns_domain': 'a DNS domain that ends with a dot', 'cron_expression': 'a cron expression',
    'timezone': 'a name of the time zone database', 'expiration': 'a time to come, in ISO 8601',
    'json_string': 'JSON', 'test_constr': 'any number'}

Facts = Mapping[str, Any]
Row = Sequence[str]


def escaped(text: str) -> str:
    """A plain text that reStructuredText shows as it is."""
    return MARKUP.sub(r'\\\1', text)


def literal(value: Any) -> str:
    """A value as code; an empty text as a word, since there is no empty literal."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not text.strip():
        return 'an empty text'
    return f'``{text}``'


def page_name(type_name: str) -> str:
    return type_name.replace('::', '-').lower()


def heading(title: str, underline: str) -> Iterator[str]:
    yield from (title, underline * len(title), '')


def table(head: Row, rows: Iterable[Row], widths: Row) -> Iterator[str]:
    yield '.. list-table::'
    yield '   :header-rows: 1'
    yield '   :class: reference-table'
    yield f'   :widths: {" ".join(widths)}'
    yield ''
    for row in (head, *rows):
        for place, cell in enumerate(row):
            yield f'   {"*" if place == 0 else " "} -{" " if cell else ""}{cell}'
    yield ''


# --- properties -------------------------------------------------------------------------------------------

def kind(body: Facts) -> str:
    """The type of a value; of a list with that of its items."""
    inner = body.get('schema', {}).get('*') if body['type'] == 'list' else None
    return f"list of {kind(inner)}s" if inner else str(body['type'])


def limits(body: Facts) -> str:
    """What values must be, those of a list's items too."""
    found = [limit(each['kind'], each['value']) for each in body.get('constraints', ())]
    if body['type'] == 'list' and 'schema' in body:
        found += [f'each: {each}' for each in [limits(body['schema']['*'])] if each]
    return '; '.join(found)


def limit(name: str, value: Any) -> str:
    match name:
        case 'allowed_values':
            shown = ', '.join(literal(each) for each in value[:SHOWN_VALUES])
            return shown if len(value) <= SHOWN_VALUES else f'{shown} and {len(value) - SHOWN_VALUES} others'
        case 'range':
            return bounds(value)
        case 'length':
            return f'length {bounds(value)}'
        case 'modulo':
            return f'{value["offset"]} more than a multiple of {value["step"]}'
        case 'allowed_pattern':
            return f'pattern {literal(value)}'
    return CONSTRAINTS.get(value) or literal(value)


def bounds(value: Facts) -> str:
    match value:
        case {'min': least, 'max': most}:
            return f'{least} to {most}'
        case {'min': least}:
            return f'at least {least}'
    return f'at most {value["max"]}'


def default(body: Facts) -> str:
    if not body.get('implemented', True):
        return ''
    if body.get('required'):
        return '**required**'
    found = literal(body['default']) if 'default' in body and body['default'] is not None else ''
    option = body.get('default_from_config')
    return f'{found} (option ``{option}``)' if option else found


def update(path: str, body: Facts) -> str:
    if '.' in path:
        return ''                           # it belongs to the property that contains it
    if body.get('immutable'):
        return 'refused'
    return 'in place' if body.get('update_allowed') else 'replaces'


def support(body: Facts | None) -> str:
    """A sentence about a status that is not plain support."""
    if not body or body['status'] == 'SUPPORTED':
        return ''
    since = f' since {body["version"]}' if body.get('version') else ''
    message = f' {escaped(body["message"])}' if body.get('message') else ''
    return f' *{body["status"].capitalize()}{since}.*{message}'


def rows(members: Iterable[tuple[tuple[str, str], Facts]], section: str) -> Iterator[Row]:
    for (found, path), body in members:
        if found == section:
            name = literal(path)
            text = escaped(body.get('description', '')) + support(body.get('support_status'))
            if section == 'attributes':
                yield name, body.get('type') or 'any', text
            elif section == 'update_policy':
                yield name, kind(body), default(body), limits(body), text
            else:
                yield name, kind(body), default(body), limits(body), update(path, body), text


# --- pages ------------------------------------------------------------------------------------------------

def about(facts: Facts) -> Iterator[str]:
    """Fields before the tables: status, service, rights, reference."""
    status = facts['support_status']
    version = f' since {status["version"]}' if status.get('version') else ''
    yield f':Status: {status["status"].lower()}{version}'
    if facts.get('default_client_name') and facts.get('family') != PLACEHOLDER:
        yield f':Service: {facts["default_client_name"]}'
    if facts.get('required_service_extension'):
        yield f':Extension of the service: {literal(facts["required_service_extension"])}'
    if facts.get('policy') == 'project_admin':
        yield ':Rights: administrators only, see `policy <../../operators/policy.rst>`_'
    yield f':get_resource: {REFERENCES[facts["reference"]["kind"]]}'
    yield ''


def page(type_name: str, purpose: str, facts: Facts, members: Sequence[tuple[tuple[str, str], Facts]],
         example: Facts | None) -> str:
    """The page of one type. `members`: of `catalogue.texts.members`."""
    found = [*heading(type_name, '=')]
    for paragraph in purpose.split('\n\n'):
        found += [escaped(' '.join(paragraph.split())), '']
    found += about(facts)
    if facts.get('family') == PLACEHOLDER and type_name != 'OS::Heat::None':
        found += ['The service of this type does not exist any more: a resource of it accepts every property and does '
                  'nothing. See `former types <../former-types.rst>`_.', '']
    sections = (
        ('Properties', 'properties', ('Property', 'Type', 'Default', 'Values', 'Update', 'Description'),
         ('19', '10', '11', '15', '11', '34')),
        ('Update policy', 'update_policy', ('Name', 'Type', 'Default', 'Values', 'Description'),
         ('20', '8', '12', '18', '42')),
        ('Attributes', 'attributes', ('Attribute', 'Type', 'Description'), ('25', '10', '65')))
    for title, section, head, widths in sections:
        lines = list(rows(members, section))
        if lines:
            found += heading(title, '-')
            found += table(head, lines, widths)
    if example is not None:
        found += heading('Example', '-')
        found += ['.. code-block:: yaml', '']
        found += [f'   {line}'.rstrip() for line in written(example).splitlines()]
        found += ['']
    return '\n'.join(found)


def written(template: Facts) -> str:
    return yaml.dump(template, Dumper=Plain, sort_keys=False, width=100)


class Plain(yaml.SafeDumper):
    """YAML without anchors, since examples share parts."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def pages() -> Mapping[str, str]:
    """Name of the file without its ending -> text, of all types and of the index."""
    import type_examples

    from heatlite.engine.resources import packed
    from heatlite.engine.resources.catalogue import texts
    from heatlite.engine.types import registry
    types, examples = registry.create(), type_examples.templates()
    found, purposes = {}, {}
    for name in packed.names():
        facts = packed.facts(name)
        purposes[name] = types.resolve(name, '').getdoc()
        found[page_name(name)] = page(name, purposes[name], facts, list(texts.members(facts)), examples.get(name))
    former = {name for name in purposes if packed.facts(name).get('family') == PLACEHOLDER and name != 'OS::Heat::None'}
    return {**found, 'index': index(purposes, former)}


def index(purposes: Mapping[str, str], former: set[str]) -> str:
    """All types by service; those in `former` have pages, but no line."""
    found = [INDEX]
    by_service: dict[str, list[str]] = {}
    for name in purposes:
        by_service.setdefault('::'.join(name.split('::')[:2]), []).append(name)
    for service, names in by_service.items():
        shown = [name for name in names if name not in former]
        if shown:
            found += heading(service, '-')
            found += table(('Type', 'Purpose'), [
                (f'`{name} <{page_name(name)}.rst>`__', escaped(' '.join(purposes[name].split('\n\n')[0].split())))
                for name in shown], ('35', '65'))
    found += ['.. toctree::', '   :hidden:', '', *(f'   {page_name(name)}' for name in purposes), '']
    return '\n'.join(found)


def write(app: Sphinx) -> None:
    """Write the pages that are not the same as before, so that Sphinx need not read them again; remove old ones."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    texts = pages()
    for old in set(folder.glob('*.rst')) - {folder / f'{name}.rst' for name in texts}:
        old.unlink()
    for name, text in texts.items():
        file = folder / f'{name}.rst'
        if not file.exists() or file.read_text(encoding='utf-8') != text:
            file.write_text(text, encoding='utf-8')


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect('builder-inited', write)
    return {'parallel_read_safe': True}
