"""How far an operation of several calls has come: plain holders that a handler returns and a check goes on with."""

from __future__ import annotations

from typing import TypedDict


class Extra(TypedDict, total=False):
    """Arguments beside the id."""

    args: tuple[object, ...]
    kwargs: dict[str, object]


class ServerCreateProgress:
    def __init__(self, server_id: str, complete: bool = False) -> None:
        self.server_id = server_id
        self.complete = complete


class UpdateProgressBase:
    """`called`: the request was sent. `handler`, `checker`: names of client plug-in methods; the extras are their
    arguments: `{'args': (), 'kwargs': {}}`."""

    def __init__(self, resource_id: str, handler: str, complete: bool = False, called: bool = False,
                 handler_extra: Extra | None = None, checker_extra: Extra | None = None) -> None:
        self.complete = complete
        self.called = called
        self.handler = handler
        self.checker = f'check_{handler}'
        handler_extra, checker_extra = handler_extra or {}, checker_extra or {}
        self.handler_args = (resource_id, *handler_extra.get('args', ()))
        self.checker_args = (resource_id, *checker_extra.get('args', ()))
        self.handler_kwargs = handler_extra.get('kwargs', {})
        self.checker_kwargs = checker_extra.get('kwargs', {})


class ServerUpdateProgress(UpdateProgressBase):
    def __init__(self, server_id: str, handler: str, complete: bool = False, called: bool = False,
                 handler_extra: Extra | None = None, checker_extra: Extra | None = None) -> None:
        super().__init__(server_id, handler, complete, called, handler_extra, checker_extra)
        self.server_id = server_id


class ContainerUpdateProgress(UpdateProgressBase):
    def __init__(self, container_id: str, handler: str, complete: bool = False, called: bool = False,
                 handler_extra: Extra | None = None, checker_extra: Extra | None = None) -> None:
        super().__init__(container_id, handler, complete, called, handler_extra, checker_extra)
        self.container_id = container_id


class ServerDeleteProgress:
    def __init__(self, server_id: str, image_id: str | None = None, image_complete: bool = True) -> None:
        self.server_id = server_id
        self.image_id = image_id
        self.image_complete = image_complete


class VolumeDetachProgress:
    def __init__(self, srv_id: str, vol_id: str, attach_id: str, task_complete: bool = False) -> None:
        self.called = task_complete
        self.cinder_complete = task_complete
        self.nova_complete = task_complete
        self.srv_id = srv_id
        self.vol_id = vol_id
        self.attach_id = attach_id


class VolumeAttachProgress:
    def __init__(self, srv_id: str, vol_id: str, device: str | None, task_complete: bool = False) -> None:
        self.called = task_complete
        self.complete = task_complete
        self.srv_id = srv_id
        self.vol_id = vol_id
        self.device = device


class VolumeDeleteProgress:
    def __init__(self, task_complete: bool = False) -> None:
        self.backup = {'called': task_complete, 'complete': task_complete}
        self.delete = {'called': task_complete, 'complete': task_complete}
        self.backup_id: str | None = None


class VolumeResizeProgress:
    def __init__(self, task_complete: bool = False, size: int | None = None) -> None:
        self.called = task_complete
        self.complete = task_complete
        self.size = size


class VolumeUpdateAccessModeProgress:
    def __init__(self, task_complete: bool = False, read_only: bool | None = None) -> None:
        self.called = task_complete
        self.read_only = read_only


class VolumeBackupRestoreProgress:
    def __init__(self, vol_id: str, backup_id: str) -> None:
        self.called = False
        self.complete = False
        self.vol_id = vol_id
        self.backup_id = backup_id
