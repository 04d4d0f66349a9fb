"""Outputs of a stack."""

from __future__ import annotations

from heatlite.api import finding, views
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import stacks


def index(req: Request, stack_name: str, stack_id: str) -> dict[str, object]:
    found = finding.present_outputs(req, _stack(req, stack_name, stack_id))
    return {'outputs': [views.output_name(output) for output in found]}


def show(req: Request, stack_name: str, stack_id: str, output_key: str) -> dict[str, object]:
    for output in finding.fresh_outputs(req, _stack(req, stack_name, stack_id), (output_key,)):
        if output['output_key'] == output_key:
            return {'output': views.output(output)}
    raise exception.NotFound(_('Specified output key %(key)s not found.'), key=output_key)


def _stack(req: Request, stack_name: str, stack_id: str) -> stacks.StoredStack:
    with req.db.reader() as tx:
        stack = finding.visible(req, stacks.show(tx, stack_id), stack_name)
    if stack.deleted_at is not None:
        raise finding.unknown(stack_name)
    return stack
