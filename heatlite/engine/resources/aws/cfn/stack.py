"""AWS::CloudFormation::Stack.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.common import exception, urlfetch
from heatlite.common.template_files import Files
from heatlite.engine.resources import catalogue, stack_resource
from heatlite.engine.resources.template_resource import parsed
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language import nested
from heatlite.language import template as templates
from heatlite.language.template import Template

NAME = 'AWS::CloudFormation::Stack'
OUTPUTS = 'Outputs.'


def nested_at(definition: object, values: Mapping[str, object]) -> tuple[str, Mapping[str, object]] | None:
    """Return the address of the template and the parameters, for checks."""
    url, given = values.get('TemplateURL'), values.get('Parameters')
    if not isinstance(url, str):
        return None
    return url, given if isinstance(given, Mapping) else {}


class NestedStack(stack_resource.StackResource):
    """A nested stack of the template at a URL."""

    PROPERTIES = (TEMPLATE_URL, TIMEOUT_IN_MINS, PARAMETERS) = ('TemplateURL', 'TimeoutInMinutes', 'Parameters')

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)
    nested_at = staticmethod(nested_at)

    @property
    def template_url(self) -> str:
        return str(self.properties[self.TEMPLATE_URL])

    def child_template(self) -> Template:
        """Return the template: from the files of the stack, else from its address, else the last one stored."""
        url, limits = self.template_url, self.stack.defn.limits.of_later
        among = nested.template_among(url, Files.of(self.child_template_files()), limits)
        if among is not None:
            return among
        try:
            return parsed(urlfetch.get_template(url), url, limits)
        except urlfetch.URLFetchError as error:
            stored = self.nested()
            if stored is None:
                raise templates.missing_template(url, str(error)) from None
            kept: Template = stored.t
            return kept

    def child_params(self) -> dict[str, object]:
        return dict(self.properties[self.PARAMETERS] or {})

    def _minutes(self) -> int | None:
        found: int | None = self.properties[self.TIMEOUT_IN_MINS]
        return found

    def handle_create(self) -> object:
        return self.create_with_template(self.child_template(), self.child_params(), self._minutes())

    def handle_adopt(self, resource_data: object = None) -> object:
        return self.create_with_template(self.child_template(), self.child_params(), self._minutes(),
                                         adopt_data=resource_data or {})

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> object:
        self.take_properties(json_snippet)
        return self.update_with_template(self.child_template(), self.child_params(), self._minutes())

    def get_attribute(self, key: str, *path: object) -> object:
        if self.resource_id is None:
            return None
        if not key.startswith(OUTPUTS):
            return super().get_attribute(key, *path)
        name = key.removeprefix(OUTPUTS)
        if not self.has_output(name):
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key)
        return super().get_attribute(name, *path)

    def get_reference_id(self) -> str:
        identifier = self.nested_identifier() if self.resource_id is not None else None
        return identifier.arn() if identifier is not None else str(self.name)


def resource_mapping() -> dict[str, type[NestedStack]]:
    return {NAME: NestedStack}
