"""Actions on templates."""

from __future__ import annotations

from heatlite.api import bodies, documents, fetching, masking
from heatlite.api.aws.errors import AwsError
from heatlite.api.cfn.request import CfnRequest
from heatlite.common import exception, urlfetch
from heatlite.common.i18n import _
from heatlite.common.limits import Limits
from heatlite.db import templates

View = dict[str, object]

COSTS = 'http://en.wikipedia.org/wiki/Gratis'
NOT_A_TEMPLATE = _('The Template must be a JSON or YAML document.')
NOTHING_GIVEN = _('TemplateBody or TemplateUrl were not given.')


def get_template(req: CfnRequest) -> View:
    with req.db.reader() as tx:
        stack = req.live_stack(tx)
        stored = templates.show(tx, stack.template_id)
    return {'TemplateBody': masking.template(stack, stored)}


def estimate_template_cost(req: CfnRequest) -> View:
    return {'Url': COSTS}


def validate_template(req: CfnRequest) -> object:
    """Validate a template. The errors of a template are returned as text, not raised."""
    limits = Limits.of(req.conf)
    message = bodies.validate_template({'template': document(req)}, limits, False, ())
    try:
        found = req.call(message)
    except (exception.HTTPBadRequest, exception.StackValidationFailed, exception.InvalidTemplateSection) as error:
        return str(error)
    shown: View = {'Description': found['Description'], 'Parameters': [{
        'ParameterKey': name, 'DefaultValue': declared.get('Default', ''), 'Description': declared['Description'],
        'NoEcho': declared['NoEcho']} for name, declared in found['Parameters'].items()]}
    if 'ParameterGroups' in found:
        shown['ParameterGroups'] = found['ParameterGroups']
    shown['Environment'] = found['Environment']
    return shown


def is_given(req: CfnRequest) -> bool:
    return bool(req.parameters.get('TemplateBody') or _url(req))


def _url(req: CfnRequest) -> str | None:
    # The second spelling is that of AWS.
    return req.parameters.get('TemplateUrl') or req.parameters.get('TemplateURL')


def document(req: CfnRequest) -> str:
    """Return the text of the template, after a check that it can be parsed."""
    text = req.parameters.get('TemplateBody')
    if not text:
        text = _fetched(_url(req))
    try:
        documents.template({'template': text}, Limits.of(req.conf))
    except exception.RequestLimitExceeded:
        raise
    except exception.HeatException:
        raise AwsError('InvalidParameterValue', NOT_A_TEMPLATE) from None
    return text


def _fetched(url: str | None) -> str:
    if not url:
        raise AwsError('MissingParameter', NOTHING_GIVEN)
    try:
        return fetching.template(url)
    except urlfetch.URLFetchError as error:
        raise AwsError('InvalidParameterValue', _('Failed to fetch template: %s') % error) from None
