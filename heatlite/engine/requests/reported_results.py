"""Reads what servers report of their deployments.

Source: docs/spec/engine.rst, "Signals of deployments".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heatlite.common.i18n import _
from heatlite.db.software_configs import Config
from heatlite.rpc.software import shown_config

OUTPUTS = ('deploy_stdout', 'deploy_stderr', 'deploy_status_code')      # of each deployment
STATUS_CODE = OUTPUTS[-1]


@dataclass(frozen=True)
class Result:
    """What came of a deployment. `why` it failed, empty if it did not; `code`: of its exit, or None."""

    outputs: Mapping[str, object]
    why: Sequence[str]
    code: object

    @property
    def status(self) -> str:
        return 'FAILED' if self.why else 'COMPLETE'

    @property
    def status_reason(self) -> str:
        return ', '.join(self.why) if self.why else _('Outputs received')

    def text(self, deployment_id: str) -> str:
        """Return the text about it for the event of the signal."""
        if not self.why:
            return _('deployment %s succeeded') % deployment_id
        if self.code:
            return _('deployment %(id)s failed (%(code)s)') % {'id': deployment_id, 'code': self.code}
        return _('deployment %s failed') % deployment_id


def result(config: Config | None, details: object) -> Result:
    """Return the result that `details`, the body of a signal, reports of a deployment of `config`; None: it is gone.

    Failed: an output that the config declares as an error, or an exit code that is not zero.
    """
    received: Mapping[str, object] = details if isinstance(details, Mapping) else {}
    outputs, why = dict[str, object](), list[str]()
    for declared in shown_config(config)['outputs'] if config is not None else ():
        name = declared['name']
        if name in received:
            outputs[name] = received[name]
            if declared.get('error_output'):
                why.append(f'{name} : {received[name]}')
    outputs.update({name: received.get(name) for name in OUTPUTS})
    code = outputs[STATUS_CODE]
    if code and str(code) != '0':
        why.append(_('%(name)s : Deployment exited with non-zero status code: %(code)s')
                   % {'name': STATUS_CODE, 'code': code})
    return Result(outputs, why, code)
