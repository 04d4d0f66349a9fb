"""POST /validate: the parameters of a template, or its errors."""

from __future__ import annotations

from heatlite.api import bodies
from heatlite.api.query import Query
from heatlite.api.wsgi import Request
from heatlite.common.limits import Limits


def validate(req: Request) -> dict[str, object]:
    query = Query(req.query)
    message = bodies.validate_template(req.require_json(), Limits.of(req.conf), query.boolean('show_nested'),
                                       bodies.ignored_errors(query.text('ignore_errors')))
    described: dict[str, object] = req.call(message)
    return described
