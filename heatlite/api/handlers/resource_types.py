"""Resource types: lists, schemas, and templates made from them. An engine answers, since only engines have types."""

from __future__ import annotations

from heatlite.api.query import Query
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.rpc import messages

SUPPORT_STATUSES = ('UNKNOWN', 'SUPPORTED', 'DEPRECATED', 'UNSUPPORTED', 'HIDDEN')
TEMPLATE_KINDS = ('cfn', 'hot')


def index(req: Request) -> dict[str, object]:
    """Types in the order of the registry, without those that the policy forbids to the caller."""
    query = Query(req.query)
    described = query.boolean('with_description')
    status = query.text('support_status')
    if status is not None and status not in SUPPORT_STATUSES:
        raise exception.Invalid(
            reason=_('Invalid support status and should be one of %s') % (SUPPORT_STATUSES,))
    if status == 'HIDDEN':
        return {'resource_types': []}
    found = req.call(messages.ListResourceTypes(status, query.text('name'), query.text('version'), described))
    allows = req.services.policy.allows_type
    return {'resource_types': [each for each in found
                               if allows(req.context, each['resource_type'] if described else each)]}


def show(req: Request, type_name: str) -> dict[str, object]:
    req.services.policy.enforce_type(req.context, type_name)
    described = Query(req.query).boolean('with_description')
    schema: dict[str, object] = req.call(messages.ResourceSchema(type_name, described))
    return schema


def template(req: Request, type_name: str) -> dict[str, object]:
    req.services.policy.enforce_type(req.context, type_name)
    kind = Query(req.query).text('template_type') or 'cfn'
    if kind.lower() not in TEMPLATE_KINDS:
        raise exception.HTTPBadRequest(
            _('Template type is not supported: Invalid template type "%s", valid types are: cfn, hot.') % kind)
    generated: dict[str, object] = req.call(messages.GenerateTemplate(type_name, kind.lower()))
    return generated
