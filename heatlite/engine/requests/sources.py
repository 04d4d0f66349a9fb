"""Builds the definition of a stack from a client's request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from heatlite.common import exception, turns
from heatlite.common.context import hide
from heatlite.common.document_parts import mapping
from heatlite.common.document_size import UNBOUNDED, measure
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_FILES, MOST_TEXT_OF_FILES, Limits, exceeded
from heatlite.db import codec
from heatlite.db.templates import StoredTemplate
from heatlite.language import definition as definitions
from heatlite.language import merging
from heatlite.language import parameters as parameter_definitions
from heatlite.language import template as templates
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.environment import DEFAULTS, ENCRYPTED, REGISTRY, SINKS, Environment
from heatlite.language.registry import Registry, layered, with_imports
from heatlite.language.registry_checks import check_entries
from heatlite.rpc import messages

Update = TypeVar('Update', bound=messages.UpdateStack)


def define(message: messages.Source, whose: StackIdentity, operator: Registry, limits: Limits,
           is_planned: bool = False, stored: Mapping[str, object] | None = None) -> StackDefinition:
    """Build the definition. Checks only versions and environment files, and the size of the template unless it is
    that of a plan (`is_planned`), which was checked when the plan was made. Raises HTTPBadRequest without a template.

    `stored`: the environment of the stack for a PATCH, over which that of the request is merged. Environment files
    are merged into the request's parameters before: what they gave at an earlier update does not count again. Raises
    RequestLimitExceeded if the result is too large, unless it is that of a plan.
    """
    if message.template is None:
        raise exception.HTTPBadRequest('No template specified')
    template = templates.from_mapping(message.template, None if is_planned else limits, text=message.template_text,
                                      encoded=codec.encode(message.template))
    sections = message.environment
    if message.environment_files:
        sections = merging.merge_files(message.environment_files, message.files,
                                       message.environment.get('parameters') or {}, kinds(template, message.files),
                                       limits)
    ignored: tuple[str, ...] = ()
    if stored is not None and isinstance(message, messages.UpdateStack):
        known = _names(message.template)
        ignored = tuple(name for name in mapping(sections.get('parameters')) if name not in known)
        sections = _over_stored(stored, sections, known, message.clear_parameters)
        if not is_planned:
            _check_growth(stored, sections, limits)
    if message.imports:
        sections = {**sections, REGISTRY: with_imports(sections.get(REGISTRY) or {}, message.imports)}
    made = definitions.build(template, Environment(sections, operator), message.files, whose, limits=limits)
    made.imports = tuple(message.imports)
    made.ignored_parameters = ignored
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
    kind_by_name: dict[str, str] = {}
    for name, text in files.items():
        try:
            nested = templates.load(text, name)
        except (exception.HeatException, ValueError):
            continue                                # a script, an environment, or broken: its use reports the error
        kind_by_name.update(_kinds_of(nested))
    kind_by_name.update(_kinds_of(template))
    return kind_by_name


def _kinds_of(template: templates.Template) -> dict[str, str]:
    section = template.section('parameters') or {}
    return {name: schema.kind for name, schema in
            parameter_definitions.schemata(section, template.edition).items()}


def over_existing(message: Update, stored: StoredTemplate) -> Update:
    """Complete the request of a PATCH with the stored template and files. `define` merges the environments.

    Source: docs/spec/rest.rst, "Updating a stack". Raises RequestLimitExceeded for too many, or too
    long, files in all.
    """
    document = message.template if message.template is not None else dict(stored.document)
    files = {**stored.files, **message.files}
    if len(files) > max(MOST_FILES, len(stored.files)):
        raise exception.RequestLimitExceeded(_('The stack would have more than %d files.') % MOST_FILES)
    if _length(files) > max(MOST_TEXT_OF_FILES, _length(stored.files), _length(message.files)):
        raise exception.RequestLimitExceeded(
            _('The files of the stack would have more than %d characters.') % MOST_TEXT_OF_FILES)
    return replace(message, template=document, files=files)


def _length(files: Mapping[str, str]) -> int:
    return sum(map(len, files.values()))


def _over_stored(stored: Mapping[str, object], sent: Mapping[str, object], known: Collection[str],
                 cleared: Collection[str]) -> dict[str, object]:
    """Return the environment of a PATCH: its sections over the stored ones, without parameters that the template does
    not declare (`known`: those that it does)."""
    parameters = {name: value for name, value in mapping(stored.get('parameters')).items() if name not in cleared}
    parameters.update(mapping(sent.get('parameters')))
    return {**environment_over(stored, sent),
            'parameters': {name: value for name, value in parameters.items() if name in known}}


def environment_over(kept: Mapping[str, object], sent: Mapping[str, object]) -> dict[str, object]:
    """Return the sections of an environment besides the parameters: those of `sent` over those that are kept."""
    entries = mapping(sent.get(REGISTRY))
    check_entries(entries)
    return {DEFAULTS: {**mapping(kept.get(DEFAULTS)), **mapping(sent.get(DEFAULTS))},
            REGISTRY: layered(mapping(kept.get(REGISTRY)), entries),
            **{section: _with_new(kept.get(section), sent.get(section)) for section in (SINKS, ENCRYPTED)}}


def _with_new(kept: object, sent: object) -> list[object]:
    """Return the names, or the few event sinks, that are kept, and behind them those of `sent` that are new."""
    there = kept if isinstance(kept, list) else []
    if not isinstance(sent, list):
        return there
    names = {item for item in there if isinstance(item, str)}
    others = [item for item in there if not isinstance(item, str)]
    return [*there, *(item for item in turns.paced(sent)
                      if (item not in names if isinstance(item, str) else item not in others))]


def _check_growth(stored: Mapping[str, object], merged: Mapping[str, object], limits: Limits) -> None:
    """Raise RequestLimitExceeded if the environment of a PATCH is larger than that of a request may be, and than the
    stored one, for which the option may have been higher."""
    size = measure(merged, UNBOUNDED)
    if size > limits.max_expansion and size > measure(stored, UNBOUNDED):
        raise exceeded(_('The environment of the stack would expand further'), limits.max_expansion,
                       'max_template_expansion')


def _names(document: Mapping[str, object]) -> set[str]:
    for section in ('parameters', 'Parameters'):
        declared = document.get(section)
        if isinstance(declared, Mapping):
            return set(declared)
    return set()
