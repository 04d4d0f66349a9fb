"""Template versions and their functions, read from tables of heatlite.language; needs no engine."""

from __future__ import annotations

from heatlite.api.query import Query
from heatlite.api.wsgi import Request
from heatlite.language import versions


def index(req: Request) -> dict[str, object]:
    return {'template_versions': versions.listed()}


def functions(req: Request, version: str) -> dict[str, object]:
    with_conditions = Query(req.query).boolean('with_condition_func')
    return {'template_functions': versions.listed_functions(version, with_conditions)}
