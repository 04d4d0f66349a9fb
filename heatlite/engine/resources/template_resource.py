"""Resources whose type is a template (docs/spec/templates.rst, "Template resources")."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from heatlite.common import exception, urlfetch
from heatlite.common.limits import Limits
from heatlite.engine import attributes
from heatlite.engine.resource_update import Comparison
from heatlite.engine.resources import stack_resource
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.language import nested
from heatlite.language import template as templates
from heatlite.language.registry import FoundType
from heatlite.language.schema import Schema
from heatlite.language.template import Template

REFERENCE = 'OS::stack_id'              # an output of that name is what get_resource gives
CACHED_TEMPLATES = 64                   # templates whose text was read lately


class TemplateResource(stack_resource.StackResource):
    """Its properties are the parameters of the template, its attributes the outputs."""

    @functools.cached_property
    def child(self) -> Template:
        """Raise StackValidationFailed when it cannot be read. It is the template of the nested stack if the limits have
        become lower since that was made."""
        try:
            return self._child_of(self._found())
        except exception.RequestLimitExceeded:
            stored = self.nested()
            if stored is None:
                raise
            kept: Template = stored.t
            return kept

    def _child_of(self, found: FoundType) -> Template:
        name = str(found.target)
        limits = self.stack.defn.limits.of_later
        among = nested.template_among(name, self.stack.defn.files, limits)
        if among is not None:
            return among
        text = self._fetched(name, found.by_operator)
        return text if isinstance(text, Template) else parsed(text, name, limits)

    def _found(self) -> FoundType:
        """Return what its type means in the environment that it was applied with, not in that of a later request."""
        environment = self.type_environment if self.type_environment is not None else self.stack.env
        found: FoundType = environment.find(self.type(), self.name)
        return found

    def compare(self, after: ResourceDefinition) -> Comparison:
        """Compare both definitions under the schema of the new template."""
        self._wanted_type(after)
        return super().compare(after)

    def take_properties(self, wanted: ResourceDefinition) -> None:
        self._wanted_type(wanted)
        super().take_properties(wanted)

    def _wanted_type(self, wanted: ResourceDefinition) -> None:
        """Take the schema of the template that an update brings."""
        found = self.stack.env.find(wanted.resource_type, self.name)
        if not found.is_template:
            return                          # it will be replaced
        self.child = self._child_of(found)
        for known in ('properties_schema', 'attributes_schema'):
            self.__dict__.pop(known, None)

    def _fetched(self, name: str, by_operator: bool) -> str | Template:
        """Return the template. If it can no longer be fetched: the one that the nested stack was last made of."""
        try:
            return urlfetch.get_template(name, by_operator)
        except urlfetch.URLFetchError as error:
            stored = self.nested()
            if stored is None:
                raise templates.missing_template(name, str(error)) from None
            kept: Template = stored.t
            return kept

    @functools.cached_property
    def properties_schema(self) -> Mapping[str, Schema]:        # type: ignore[override]
        return nested.template_schemas(self.child, self.stack.env.parameter_defaults)

    @functools.cached_property
    def attributes_schema(self) -> Mapping[str, attributes.Schema]:         # type: ignore[override]
        return attributes.Attributes.schema_from_outputs(self.child.section('outputs'))

    @property
    def template_url(self) -> str | None:
        return str(self._found().target)

    def child_template(self) -> Template:
        return self.child

    def child_params(self) -> dict[str, object]:
        """Only what was given: for the rest the template has its own defaults. Raises TypeError for a list of what
        cannot be text."""
        given = self.properties.given
        values = {name: self.properties[name] for name in given if name in self.properties_schema}
        return nested.child_parameters(self.properties_schema, given, values)

    def get_reference_id(self) -> str:
        if self.resource_id is None:
            return str(self.name)
        reference = self.get_output(REFERENCE) if self.has_output(REFERENCE) else None
        if reference is not None:
            return str(reference)
        identifier = self.nested_identifier()
        return identifier.arn() if identifier is not None else str(self.name)

    def get_attribute(self, key: str, *path: object) -> object:
        is_show = key == attributes.SHOW_ATTR
        if is_show and key not in self.attributes_schema:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key)
        if self.resource_id is None:
            return None
        if is_show:                 # an output that has the name of what other types show
            return attributes.select_from_attribute(self.get_output(key), path)
        return super().get_attribute(key, *path)

    def FnGetAtts(self) -> dict[str, object]:
        return {name: self.FnGetAtt(name) for name in self.attributes_schema}


def shown(found: FoundType, limits: Limits) -> type[TemplateResource]:
    """Return a template as a class, for requests about types. Raises URLFetchError."""
    name = str(found.target)
    child = parsed(urlfetch.get_template(name, found.by_operator), name, limits)
    return type('TemplateResource', (TemplateResource,), {
        'properties_schema': nested.template_schemas(child, {}), '__doc__': str(child.description),
        'attributes_schema': attributes.Attributes.schema_from_outputs(child.section('outputs'))})


@functools.lru_cache(CACHED_TEMPLATES)
def parsed(text: str, name: str, limits: Limits) -> Template:
    """As `nested.parse_child`, once for all stacks."""
    return nested.parse_child(text, name, limits)
