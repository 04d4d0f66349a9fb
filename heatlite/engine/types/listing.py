"""Answers requests about resource types: lists, schemas, generated templates.

Source: docs/spec/rest.rst, "Resource types".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from heatlite.common import exception, param_utils, policy
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine import attributes, properties, support
from heatlite.language import budget
from heatlite.language.patterns import Pattern

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource
    from heatlite.rpc import messages

Allows = Callable[[RequestContext, str], bool]         # (context, type name) -> whether the caller may use it
Describe = Callable[[str, 'type[Resource]'], str]      # (type name, class) -> its description


def list_types(classes: Iterable[tuple[str, type[Resource]]], context: RequestContext,
               message: messages.ListResourceTypes, allows: Allows, describe: Describe) -> list[object]:
    """List the types that the caller can use now: names, or `{resource_type, description}`. Raises Invalid."""
    wanted = message.support_status
    if wanted is not None and not support.is_valid_status(wanted):
        raise exception.Invalid(reason=_('Invalid support status and should be one of %s')
                                % (support.SUPPORT_STATUSES,))
    try:
        pattern = Pattern(message.name) if message.name is not None else None
    except (re.error, ValueError):
        return []
    found: list[object] = []
    kinds = list(classes)
    if pattern is not None:
        try:
            with budget.shared():
                kinds = [(name, kind) for name, kind in kinds if pattern.match(name)]
        except ValueError as error:
            raise exception.Invalid(reason=str(error)) from None
    for name, kind in kinds:
        status = kind.support_status
        if (status.status == support.HIDDEN or (wanted is not None and status.status != wanted)
                or (message.version is not None and status.version != message.version)
                or not allows(context, name) or not _is_available(kind, context)):
            continue
        found.append({'resource_type': name, 'description': describe(name, kind)} if message.with_description else name)
    return found


def _is_available(resource_class: type[Resource], context: RequestContext) -> bool:
    if resource_class.default_client_name is None:
        return True
    try:
        return bool(resource_class.is_service_available(context)[0])
    except Exception:                       # a service that fails is not available to the caller
        return False


def schema(resource_class: type[Resource], context: RequestContext, message: messages.ResourceSchema,
           allows: Allows) -> dict[str, object]:
    """Return the schema of a type. Raises NotSupported for a hidden type, Forbidden, ResourceTypeUnavailable."""
    if resource_class.support_status.status == support.HIDDEN:
        raise exception.NotSupported(feature=message.type_name)
    if not allows(context, message.type_name):
        raise exception.Forbidden(action=policy.rule_of_type(message.type_name))
    resource_class.check_service_available(context, message.type_name)
    found: dict[str, object] = {
        'resource_type': message.type_name,
        'properties': {name: dict(entry)
                       for name, entry in properties.schemata(resource_class.properties_schema).items()
                       if entry.implemented and entry.support_status.status != support.HIDDEN},
        'attributes': {name: dict(entry) for name, entry in attributes.all_schemata(resource_class).items()
                       if entry.support_status.status != support.HIDDEN},
        'support_status': resource_class.support_status.to_dict(),
    }
    if message.with_description:
        found['description'] = resource_class.getdoc()
    return found


def template(resource_class: type[Resource], message: messages.GenerateTemplate) -> dict[str, object]:
    """Generate a template; also for a type whose service is missing. Raises NotSupported for a hidden one."""
    if resource_class.support_status.status == support.HIDDEN:
        raise exception.NotSupported(feature=message.type_name)
    try:
        template_type = param_utils.extract_template_type(message.kind)
    except ValueError as error:
        raise exception.BadRequest(_('Template type is not supported: %s') % error)
    return resource_class.resource_to_template(message.type_name, template_type)
