"""A cloud that counts what exists, and types that live in it. Every call may be the last thing a process does."""

from __future__ import annotations

import itertools

from heatlite.common import exception
from heatlite.engine import properties, resource
from heatlite.engine.durability import fence


class Lost(Exception):
    """It was done, but nobody got the answer."""


class Cloud:
    def __init__(self, chaos) -> None:
        self.chaos = chaos
        self.objects: dict[str, dict] = {}
        self.made: list[str] = []               # names in the order they were made
        self.calls: list[tuple[str, str]] = []
        self.heard: set[str] = set()            # what objects were told by signals
        self.lose_creates = False               # every first answer to a create is lost
        self._lost: set[str] = set()
        self._numbers = itertools.count(1)
        self.projects: dict[str, str] = {}      # id -> name, which is unique; for users inside stacks
        self.users: dict[str, str] = {}         # name -> project

    def _receive(self, label: str, world) -> None:
        """A request is about to be sent; others may go on first."""
        self.chaos.point(label, world)
        fence.pass_through()

    def create(self, world, name: str, value: str) -> str:
        self._receive('create', world)
        ident = f'obj-{next(self._numbers)}'
        self.objects[ident] = {'name': name, 'value': value, 'polls': 0}
        self.made.append(name)
        self.calls.append(('create', name))
        self.chaos.point('created', world)
        if self.lose_creates and name not in self._lost:
            self._lost.add(name)
            raise Lost(name)
        return ident

    def find(self, world, name: str) -> str | None:
        self._receive('find', world)
        return next((ident for ident, found in self.objects.items() if found['name'] == name), None)

    def is_ready(self, world, ident: str) -> bool:
        self._receive('poll', world)
        found = self.objects[ident]
        found['polls'] += 1
        return found['polls'] > 1

    def show(self, world, ident: str) -> dict:
        self._receive('show', world)
        if ident not in self.objects:
            raise exception.EntityNotFound(entity='Object', name=ident)
        return self.objects[ident]

    def update(self, world, ident: str, value: str) -> None:
        self._receive('update', world)
        self.objects[ident]['value'] = value
        self.calls.append(('update', self.objects[ident]['name']))
        self.chaos.point('updated', world)

    def tell(self, world, word: str) -> None:
        self._receive('tell', world)
        self.heard.add(word)
        self.chaos.point('told', world)

    # --- its identity service, as `clients/os/keystone` uses one --------------------------------------------

    def create_project(self, world, name: str) -> str:
        """One that has the name already is found."""
        self._receive('create project', world)
        found = next((ident for ident, known in self.projects.items() if known == name), None)
        if found is None:
            found = f'project-{next(self._numbers)}'
            self.projects[found] = name
        self.chaos.point('project created', world)
        return found

    def delete_project(self, world, ident: str) -> None:
        self._receive('delete project', world)
        self.projects.pop(ident, None)
        self.users = {name: project for name, project in self.users.items() if project != ident}
        self.chaos.point('project deleted', world)

    def create_user(self, world, name: str, project: str) -> None:
        self._receive('create user', world)
        if project not in self.projects:
            raise exception.NotFound(f'There is no project {project}')
        self.users[name] = project
        self.chaos.point('user created', world)

    def delete_user(self, world, name: str, project: str) -> None:
        self._receive('delete user', world)
        if name in self.users and self.users[name] != project:
            raise ValueError(f'User {name} in invalid project: delete refused')
        self.users.pop(name, None)
        self.chaos.point('user deleted', world)

    def delete(self, world, ident: str) -> None:
        self._receive('delete', world)
        found = self.objects.pop(ident, None)
        if found is not None:
            self.calls.append(('delete', found['name']))
        self.chaos.point('deleted', world)


CLOUD: Cloud | None = None


def use(cloud: Cloud) -> None:
    global CLOUD
    CLOUD = cloud


class Thing(resource.Resource):
    """Takes two polls to become ready. Its name is its own, so it can be found again. With `user` it has a user in the
    project of its tree of stacks, as everything has that a guest logs in for."""

    PROPERTIES = (VALUE, FIXED, FAIL, USER) = ('value', 'fixed', 'fail', 'user')
    properties_schema = {
        VALUE: properties.Schema(properties.Schema.STRING, default='', update_allowed=True),
        FIXED: properties.Schema(properties.Schema.STRING, default=''),
        FAIL: properties.Schema(properties.Schema.BOOLEAN, default=False, update_allowed=True),
        USER: properties.Schema(properties.Schema.BOOLEAN, default=False),
    }

    def handle_create(self):
        if self.properties[self.FAIL]:
            raise exception.Error('told to fail')
        if self.properties[self.USER]:
            CLOUD.create_user(self.world, self.physical_resource_name(), self._project())
        ident = CLOUD.create(self.world, self.physical_resource_name(), self.properties[self.VALUE])
        self.resource_id_set(ident)
        return {'ident': ident}

    def _project(self):
        return self.stack.user_project(lambda root_id: CLOUD.create_project(self.world, root_id),
                                       lambda project: CLOUD.delete_project(self.world, project))

    def find_existing(self):
        return CLOUD.find(self.world, self.physical_resource_name())

    def check_create_complete(self, handle):
        return CLOUD.is_ready(self.world, self.resource_id)

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        if prop_diff.get(self.FAIL):
            raise exception.Error('told to fail')
        CLOUD.update(self.world, self.resource_id, json_snippet.properties(self.properties_schema)[self.VALUE])

    def get_live_resource_data(self):
        return CLOUD.show(self.world, self.resource_id)

    def parse_live_resource_data(self, resource_properties, resource_data):
        return {self.VALUE: resource_data['value']}

    def handle_signal(self, details=None):
        CLOUD.tell(self.world, details['word'])

    def handle_check(self):
        if self.resource_id not in CLOUD.objects:
            raise exception.Error('gone')

    def handle_suspend(self):
        CLOUD.chaos.point('suspend', self.world)

    def handle_resume(self):
        CLOUD.chaos.point('resume', self.world)

    def handle_delete(self):
        if self.resource_id is not None:
            CLOUD.delete(self.world, self.resource_id)
        if self.properties[self.USER]:
            CLOUD.delete_user(self.world, self.physical_resource_name(), self._project())


def resource_mapping():
    return {'Sim::Thing': Thing}
