"""Hides secrets in stored data for clients: values of hidden parameters, and data that types mark as secret.

The documents of a stack define what is hidden in it (heatlite.language.masking).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlalchemy import Connection

from heatlite.api import deployment_logins
from heatlite.common import template_format
from heatlite.common.document_parts import mapping
from heatlite.db import codec, resource_data, resource_lists, stacks, templates
from heatlite.language import masking
from heatlite.language.hiding import HIDDEN_TEXT as HIDDEN
from heatlite.language.masking import Mask
from heatlite.language.template import is_template_name

AT_ONCE = 50                    # nested stacks whose documents are in memory at once
REDACTED = 'redacted'           # in exports and snapshots: names of the data marked as secret

_SECTIONS: dict[str, type] = {'resource_registry': dict, 'parameters': dict, 'parameter_defaults': dict,
                              'event_sinks': list, 'encrypted_param_names': list}


def environment(stored: Mapping[str, object], document: Mapping[str, object],
                is_sealed: bool = False, mask: Mask | None = None) -> dict[str, object]:
    """Return `stored` with every section and without secrets.

    `document`: the template that declares the parameters; files that serve as its types are added to the registry, as
    in Heat. `is_sealed`: it is stored encrypted, which clients see by the names of hidden parameters. `mask`: that of
    both documents, if it is known.
    """
    shown: dict[str, object] = {name: stored.get(name) or kind() for name, kind in _SECTIONS.items()}
    files = {name: name for name in _types(document) if isinstance(name, str) and is_template_name(name)}
    registry: dict[str, object] = {'resources': {}, **files, **mapping(shown['resource_registry'])}
    shown['resource_registry'] = registry
    secret = masking.hidden_names(document, stored)
    if is_sealed:
        named = shown['encrypted_param_names']
        shown['encrypted_param_names'] = sorted({*(named if isinstance(named, Iterable) else ()),
                                                 *secret & mapping(shown['parameters']).keys()})
    mask = masking.of_documents(document, stored) if mask is None else mask
    for section in ('parameters', 'parameter_defaults'):
        shown[section] = {name: HIDDEN if name in secret else mask(value)
                          for name, value in mapping(shown[section]).items()}
    return shown


def template(stack: stacks.Identity, stored: templates.StoredTemplate) -> Mapping[str, object]:
    """Return the template of a stack, for every API that shows it: as its author wrote it; without resources where the
    stack is deleted; of a nested stack, whose template may have been written by a type, without hidden values."""
    if stack.deleted_at is not None:
        return _emptied(stored.document)
    if stack.owner_id is None:
        return stored.document
    secrets = stored.environment.get(masking.VALUES)
    return Mask(secrets if isinstance(secrets, Iterable) else ())(stored.document)


def _emptied(document: Mapping[str, object]) -> dict[str, object]:
    """Return the version of a template, without resources."""
    hot = 'heat_template_version' in document
    version = {key: document[key] for key in template_format.VERSION_KEYS if key in document}
    return {**version, 'resources' if hot else 'Resources': {}}


def of_stored(stored: templates.StoredTemplate) -> Mask:
    """Return the mask of the documents of a stack: hides values that its author wrote as defaults as well."""
    return masking.of_documents(stored.document, stored.environment)


def export(data: Mapping[str, object]) -> dict[str, object]:
    """Return an export document without secrets, nested ones included: for snapshots, and for all callers but
    admins."""
    return _export(data, Mask(_secrets(data)), is_nested=False)


def _secrets(data: Mapping[str, object]) -> Iterator[object]:
    """Yield the secrets of all resources of the tree; in an old snapshot, which does not mark them, all data are."""
    for each in _resources(data):
        if 'template' in each:
            yield from _secrets(each)
        else:
            kept = mapping(each.get('resource_data'))
            yield from (kept[name] for name in _redacted(each, kept) if kept.get(name))


def _resources(data: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    found = data.get('resources')
    yield from (each for each in (found.values() if isinstance(found, Mapping) else ()) if isinstance(each, Mapping))


def _redacted(resource: Mapping[str, object], kept: Iterable[str]) -> Iterable[str]:
    """Return the names of the secret data of a resource; without a list of them all that are `kept`."""
    names = resource.get(REDACTED, kept)
    return names if isinstance(names, Iterable) else ()


def _export(data: Mapping[str, object], secrets: Mask, is_nested: bool) -> dict[str, object]:
    shown, mask = dict(data), secrets
    stored, inside = data.get('environment'), data.get('resources')
    if isinstance(stored, Mapping):
        document = mapping(data.get('template'))
        own = masking.of_documents(document, stored)
        masked = environment(stored, document, mask=own)
        mask |= own
        shown['environment'] = {name: masked[name] for name in stored if name in masked}
        if is_nested or masking.VALUES in stored:       # the document may be that of a nested stack alone
            shown['template'] = mask(document)
    if isinstance(inside, Mapping):
        shown['resources'] = {name: each if not isinstance(each, Mapping) else
                              _export(each, secrets, is_nested=True) if 'template' in each else _resource(each, mask)
                              for name, each in inside.items()}
    return shown


def _resource(each: Mapping[str, object], mask: Mask) -> dict[str, object]:
    shown = {name: value for name, value in each.items() if name != REDACTED}
    kept = mapping(each.get('resource_data'))
    metadata = shown.get('metadata')
    if isinstance(metadata, Mapping):       # of a server: deployments, also those of other stacks
        shown['metadata'] = deployment_logins.metadata_without_logins(metadata)
    shown |= {name: mask(shown[name]) for name in ('metadata', 'resource_data') if name in each}
    if kept:
        shown['resource_data'] = {**mask(kept), **{name: HIDDEN for name in _redacted(each, kept)
                                                   if kept.get(name) is not None}}
    return shown


def complete(data: Mapping[str, object]) -> dict[str, object]:
    """Return an export document with all its values, for callers who may adopt it, without internal keys."""
    shown = {name: value for name, value in data.items() if name != REDACTED}
    stored, found = data.get('environment'), data.get('resources')
    if isinstance(stored, Mapping):
        shown['environment'] = {name: value for name, value in stored.items()
                                if name not in (masking.NAMES, masking.VALUES)}
    if isinstance(found, Mapping):
        shown['resources'] = {name: complete(each) if isinstance(each, Mapping) else each
                              for name, each in found.items()}
    return shown


def of_parameters(tx: Connection, stack: stacks.Identity) -> Mask:
    """Return the mask of a stack's parameters. One small SELECT, and another one if something is, or may be, hidden."""
    if stack.owner_id is None and HIDDEN not in (stacks.parameters(tx, stack.id) or {}).values():
        return masking.NOTHING
    return of_stored(templates.show(tx, stack.template_id))


def of_resource(tx: Connection, stack: stacks.Identity, row: resource_lists.ShownResource | None = None) -> Mask:
    """Return the mask of the secrets of a resource and of those it refers to; without `row` of the whole stack. One
    SELECT."""
    return Mask(resource_data.secrets(tx, stack.id, None if row is None else [row.id, *(row.requires or {}).values()]))


def of_stacks(tx: Connection, found: Sequence[stacks.Identity]) -> dict[str, Mask]:
    """Return the masks of the parameters and resources of these stacks, by id. A SELECT for each 500 stacks, one for
    each AT_ONCE nested ones, and those of `of_parameters` for each root."""
    secrets = resource_data.secrets_of_stacks(tx, [each.id for each in found])
    masks = {each.id: of_parameters(tx, each) for each in found if each.owner_id is None}
    nested = [each for each in found if each.owner_id is not None]
    for first in range(0, len(nested), AT_ONCE):
        some = nested[first:first + AT_ONCE]
        stored = templates.sources(tx, [each.template_id for each in some])
        made = {source: masking.of_documents(*map(codec.decode, source)) for source in set(stored.values())}
        masks.update((each.id, made[stored[each.template_id]]) for each in some)
    return {stack_id: mask | Mask(secrets.get(stack_id, ())) for stack_id, mask in masks.items()}


def _types(document: Mapping[str, object]) -> Iterator[object]:
    found = document.get('resources') or document.get('Resources') or {}
    for each in found.values() if isinstance(found, Mapping) else ():
        if isinstance(each, Mapping):
            yield each.get('type') or each.get('Type')
