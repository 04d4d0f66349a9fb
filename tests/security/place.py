"""The three APIs in this process over the rows of the isolation tests: all can be asked; messages are recorded."""

from __future__ import annotations

from typing import Any

from heatlite.api.cloudwatch import deploy
from tests.api import in_process
from tests.isolation import here
from tests.security.doors import Api, Asked, Door


class Place(here.Place):
    watch = staticmethod(deploy.build)

    def __init__(self, folder: Any, **options: Any) -> None:
        super().__init__(folder)
        conf = in_process.options(
            enable_stack_abandon=True, enable_stack_adopt=True, **options)
        self.apps = {
            Api.REST: in_process.build(conf, self.database, self.engine),
            Api.CFN: here.deploy.build(conf, self.database, self.engine, identity=in_process.Verified),
            Api.CLOUDWATCH: deploy.build(conf, self.database, self.engine, identity=in_process.Verified)}

    def request(self, door: Door, asked: Asked, *, project: str | None = here.VICTIM, roles: str = 'member,reader',
                headers: dict[str, str] | None = None, **environ: Any) -> Any:
        """The answer. `project`: of the caller; None: a caller without a login."""
        self.statements.clear()
        self.engine.sent.clear()
        return in_process.ask(self.apps[door.api], asked.method, asked.url, asked.body, project=project, roles=roles,
                              headers={**dict(asked.headers), **(headers or {})}, **environ)
