"""Builds the definition of a stack from a client's request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from heatlite.common import exception
from heatlite.common.context import hide
from heatlite.common.documents import mapping
from heatlite.common.limits import Limits
from heatlite.db import codec
from heatlite.db.templates import StoredTemplate
from heatlite.language import definition as definitions
from heatlite.language import merging
from heatlite.language import parameters as parameter_definitions
from heatlite.language import template as templates
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.environment import REGISTRY, Environment
from heatlite.language.registry import Registry, with_imports
from heatlite.rpc import messages

Update = TypeVar('Update', bound=messages.UpdateStack)


def define(message: messages.Source, whose: StackIdentity, operator: Registry, limits: Limits,
           is_planned: bool = False) -> StackDefinition:
    """Build the definition. Checks only versions and environment files, and the size of the template unless it is
    that of a plan (`is_planned`), which was checked when the plan was made. Raises HTTPBadRequest without a template.
    """
    if message.template is None:
        raise exception.HTTPBadRequest('No template specified')
    template = templates.from_mapping(message.template, None if is_planned else limits, text=message.template_text,
                                      encoded=codec.encode(message.template))
    sections = message.environment
    if message.environment_files:
        merged = merging.merge_files(message.environment_files, message.files,
                                     message.environment.get('parameters') or {}, kinds(template, message.files),
                                     limits)
        is_over_existing = isinstance(message, messages.UpdateStack) and message.existing
        sections = merged if not is_over_existing else {
            **_over(message.environment, merged), 'parameters': merged['parameters']}
    if message.imports:
        sections = {**sections, REGISTRY: with_imports(sections.get(REGISTRY) or {}, message.imports)}
    made = definitions.build(template, Environment(sections, operator), message.files, whose, limits=limits)
    made.imports = tuple(message.imports)
    hide(made.masked)
    return made


def sharing(stored: StoredTemplate, template: templates.Template) -> StoredTemplate:
    """Return the stored template with the parts of `template`, a later one, in place of its own equal parts. Those are
    freed with the argument: a change of a large stack does not hold two copies of what is the same."""
    return replace(stored, document={
        name: _shared(section, template.document.get(name)) for name, section in stored.document.items()})


def _shared(section: object, other: object) -> object:
    if not (isinstance(section, dict) and isinstance(other, dict)):
        return section
    return {name: other[name] if name in other and other[name] == part else part for name, part in section.items()}


def kinds(template: templates.Template, files: Mapping[str, str]) -> dict[str, str]:
    """Return parameter name -> kind, for the template and the templates among the files."""
    found: dict[str, str] = {}
    for name, text in files.items():
        try:
            nested = templates.load(text, name)
        except (exception.HeatException, ValueError):
            continue                                # a script, an environment, or broken: its use reports the error
        found.update(_kinds_of(nested))
    found.update(_kinds_of(template))
    return found


def _kinds_of(template: templates.Template) -> dict[str, str]:
    section = template.section('parameters') or {}
    return {name: schema.kind for name, schema in
            parameter_definitions.schemata(section, template.edition).items()}


def over_existing(message: Update, stored: StoredTemplate) -> Update:
    """Merge the request of a PATCH with the stored template, environment and files.

    Source: docs/spec/rest.rst, "Updating a stack".
    """
    document = message.template if message.template is not None else dict(stored.document)
    given = message.environment
    kept = stored.environment
    parameters = {name: value for name, value in (kept.get('parameters') or {}).items()
                  if name not in message.clear_parameters}
    parameters.update(given.get('parameters') or {})
    known = _names(document)
    sections = {**_over(kept, given),
                'parameters': {name: value for name, value in parameters.items() if name in known}}
    return replace(message, template=document, environment=sections, files={**stored.files, **message.files})


def ignored_by_existing(message: messages.Source, document: Mapping[str, object]) -> tuple[str, ...]:
    """Return the parameters of the request of a PATCH that `over_existing` leaves out, since its template, or else
    `document`, does not declare them."""
    known = _names(document if message.template is None else message.template)
    return tuple(name for name in mapping(message.environment.get('parameters')) if name not in known)


def _over(kept: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Return the sections of an environment besides the parameters: those of `given` over those that are kept."""
    return {**{section: {**mapping(kept.get(section)), **mapping(given.get(section))}
               for section in ('parameter_defaults', 'resource_registry')},
            **{section: given.get(section) or kept.get(section) or []
               for section in ('event_sinks', 'encrypted_param_names')}}


def _names(document: Mapping[str, object]) -> set[str]:
    for section in ('parameters', 'Parameters'):
        declared = document.get(section)
        if isinstance(declared, Mapping):
            return set(declared)
    return set()
