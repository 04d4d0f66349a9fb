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
        self.requests: list[str] = []           # all requests, also those that change nothing
        self.heard: set[str] = set()            # what objects were told by signals
        self.lose_creates = False               # every first answer to a create is lost
        self._lost: set[str] = set()
        self._numbers = itertools.count(1)
        self.projects: dict[str, str] = {}      # id -> name, which is unique; for users inside stacks
        self.users: dict[str, str] = {}         # name -> project

    def _receive(self, label: str, runtime) -> None:
        """A request is about to be sent; others may go on first."""
        self.chaos.point(label, runtime)
        fence.pass_through()
        self.requests.append(label)

    def create(self, runtime, name: str, value: str) -> str:
        self._receive('create', runtime)
        ident = f'obj-{next(self._numbers)}'
        self.objects[ident] = {'name': name, 'value': value, 'polls': 0}
        self.made.append(name)
        self.calls.append(('create', name))
        self.chaos.point('created', runtime)
        if self.lose_creates and name not in self._lost:
            self._lost.add(name)
            raise Lost(name)
        return ident

    def find(self, runtime, name: str) -> str | None:
        self._receive('find', runtime)
        return next((ident for ident, found in self.objects.items() if found['name'] == name), None)

    def is_ready(self, runtime, ident: str) -> bool:
        self._receive('poll', runtime)
        found = self.objects[ident]
        found['polls'] += 1
        return found['polls'] > 1

    def show(self, runtime, ident: str) -> dict:
        self._receive('show', runtime)
        if ident not in self.objects:
            raise exception.EntityNotFound(entity='Object', name=ident)
        return self.objects[ident]

    def update(self, runtime, ident: str, value: str) -> None:
        self._receive('update', runtime)
        self.objects[ident]['value'] = value
        self.calls.append(('update', self.objects[ident]['name']))
        self.chaos.point('updated', runtime)

    def tell(self, runtime, word: str) -> None:
        self._receive('tell', runtime)
        self.heard.add(word)
        self.chaos.point('told', runtime)

    # --- its identity service, as `clients/os/keystone` uses one --------------------------------------------

    def create_project(self, runtime, name: str) -> str:
        """One that has the name already is found."""
        self._receive('create project', runtime)
        found = next((ident for ident, known in self.projects.items() if known == name), None)
        if found is None:
            found = f'project-{next(self._numbers)}'
            self.projects[found] = name
        self.chaos.point('project created', runtime)
        return found

    def delete_project(self, runtime, ident: str) -> None:
        self._receive('delete project', runtime)
        self.projects.pop(ident, None)
        self.users = {name: project for name, project in self.users.items() if project != ident}
        self.chaos.point('project deleted', runtime)

    def create_user(self, runtime, name: str, project: str) -> None:
        self._receive('create user', runtime)
        if project not in self.projects:
            raise exception.NotFound(f'There is no project {project}')
        self.users[name] = project
        self.chaos.point('user created', runtime)

    def delete_user(self, runtime, name: str, project: str) -> None:
        self._receive('delete user', runtime)
        if name in self.users and self.users[name] != project:
            raise ValueError(f'User {name} in invalid project: delete refused')
        self.users.pop(name, None)
        self.chaos.point('user deleted', runtime)

    def delete(self, runtime, ident: str) -> None:
        self._receive('delete', runtime)
        found = self.objects.pop(ident, None)
        if found is not None:
            self.calls.append(('delete', found['name']))
        self.chaos.point('deleted', runtime)


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
            CLOUD.create_user(self.runtime, self.physical_resource_name(), self._project())
        ident = CLOUD.create(self.runtime, self.physical_resource_name(), self.properties[self.VALUE])
        self.resource_id_set(ident)
        return {'ident': ident}

    def _project(self):
        return self.stack.user_project(lambda root_id: CLOUD.create_project(self.runtime, root_id),
                                       lambda project: CLOUD.delete_project(self.runtime, project))

    def find_existing(self):
        return CLOUD.find(self.runtime, self.physical_resource_name())

    def check_create_complete(self, handle):
        return CLOUD.is_ready(self.runtime, self.resource_id)

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        if prop_diff.get(self.FAIL):
            raise exception.Error('told to fail')
        CLOUD.update(self.runtime, self.resource_id, json_snippet.properties(self.properties_schema)[self.VALUE])

    def get_live_resource_data(self):
        return CLOUD.show(self.runtime, self.resource_id)

    def parse_live_resource_data(self, resource_properties, resource_data):
        return {self.VALUE: resource_data['value']}

    def handle_signal(self, details=None):
        CLOUD.tell(self.runtime, details['word'])

    def handle_check(self):
        if self.resource_id not in CLOUD.objects:
            raise exception.Error('gone')

    def handle_suspend(self):
        CLOUD.chaos.point('suspend', self.runtime)

    def handle_resume(self):
        CLOUD.chaos.point('resume', self.runtime)

    def handle_delete(self):
        if self.resource_id is not None:
            CLOUD.delete(self.runtime, self.resource_id)
        if self.properties[self.USER]:
            CLOUD.delete_user(self.runtime, self.physical_resource_name(), self._project())


class Place(Thing):
    """Stands for a stack in another region: fails if its parameters say so."""

    PROPERTIES = (CONTEXT, TEMPLATE, PARAMETERS, TIMEOUT) = ('context', 'template', 'parameters', 'timeout')
    properties_schema = {
        CONTEXT: properties.Schema(properties.Schema.MAP),
        TEMPLATE: properties.Schema(properties.Schema.STRING, update_allowed=True),
        PARAMETERS: properties.Schema(properties.Schema.MAP, update_allowed=True),
        TIMEOUT: properties.Schema(properties.Schema.INTEGER, update_allowed=True),
    }

    def handle_create(self):
        ident = CLOUD.create(self.runtime, self.physical_resource_name(), self.properties[self.TEMPLATE])
        self.resource_id_set(ident)
        return {'ident': ident}

    def check_create_complete(self, handle):
        if not CLOUD.is_ready(self.runtime, self.resource_id):
            return False
        if self.properties[self.PARAMETERS].get('fail'):
            raise exception.Error('the place is closed')
        return True

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        wanted = json_snippet.properties(self.properties_schema)
        CLOUD.update(self.runtime, self.resource_id, wanted[self.TEMPLATE])
        if wanted[self.PARAMETERS].get('fail'):
            raise exception.Error('the place is closed')

    def needs_replace_failed(self):
        return False

    def _needs_update(self, *arguments, **options):
        return super()._needs_update(*arguments, **options) or True

    def handle_delete(self):
        if self.resource_id is not None:
            CLOUD.delete(self.runtime, self.resource_id)


def resource_mapping():
    return {'Sim::Thing': Thing, 'Sim::Place': Place}
