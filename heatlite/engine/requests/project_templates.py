"""The use case of a template that is written from the objects of a project."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial

from keystoneauth1 import exceptions as services

from heatlite.common import exception, log_throttle, yaml_writing
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import resource_lists
from heatlite.db.connection import Database
from heatlite.engine import clients
from heatlite.engine.observe import orphans, project
from heatlite.engine.observe.project import CONTAINERS, LISTS, MEMBERS, RECORDS, Listing
from heatlite.engine.requests import questions
from heatlite.engine.requests.questions import Question
from heatlite.planning import project_template
from heatlite.planning.project_template import FoundObject, Selection
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

SECONDS = 45.0                      # in which the services have to answer


def _logged_in(asked: clients.OpenStackClients) -> str | None:
    """Log in to the cloud, and return the id of the project. Raises HTTPBadRequest if nothing says how,
    HTTPServiceUnavailable if it is not possible now."""
    try:
        return project.log_in(asked)
    except exception.AuthorizationFailure as error:
        raise exception.HTTPBadRequest(_('The project cannot be read: %s') % error) from error
    except services.ClientException as error:
        log_throttle.log(LOG, logging.INFO, type(error).__name__, 'Logging in to read a project: %s: %s',
                         type(error).__name__, error)
        raise exception.HTTPServiceUnavailable(_('The project cannot be read: the cloud gives no token.')) from error


class ProjectTemplates:
    """Writes templates from projects, in threads of requests."""

    def __init__(self, runtime: Runtime, database: Database) -> None:
        self._runtime = runtime
        self._database = database

    def generate(self, context: RequestContext, message: messages.GenerateProjectTemplate) -> dict[str, object]:
        """Return {template (text), imports, summary, in_stacks, unread}.

        Raises HTTPBadRequest for types of which no template is written, EntityNotFound for an unknown network,
        RequestLimitExceeded, and what `_logged_in` raises."""
        unknown = project_template.unknown_types(message.types)
        if unknown:
            raise exception.HTTPBadRequest(_('No template is written of these types: %s') % ', '.join(unknown))
        listing, unread = self._read(context)
        selection = Selection(message.types, message.tags, message.name, listing.network_ids(message.networks))
        found = [each for each in listing.objects() if selection.wants(each)]
        free = self._without_owned(found, listing)
        draft = project_template.compose(free, listing.label)
        return {'template': yaml_writing.template_text(draft.template),
                'imports': {name: {'id': physical_id} for name, physical_id in draft.imports.items()},
                'summary': dict(draft.counts), 'in_stacks': len(found) - len(free), 'unread': unread}

    def _read(self, context: RequestContext) -> tuple[Listing, list[dict[str, str]]]:
        """Read all lists at once, then what is inside pools and zones. Lists that cannot be read are named."""
        asked = clients.of(context)
        project_id = _logged_in(asked)
        first = {name: Question(name, partial(project.read, asked, name, project_id)) for name in LISTS}
        holding = Question(CONTAINERS, partial(project.containers, asked))
        questions.ask(self._runtime, context, [*first.values(), holding], SECONDS)
        lists = {name: question.answer([]) for name, question in first.items()}
        members = Question(MEMBERS, partial(project.read_inside, asked, 'octavia', '/lbaas/pools/{id}/members',
                                            'members', lists['pools']))
        records = Question(RECORDS, partial(project.read_inside, asked, 'designate', '/zones/{id}/recordsets',
                                            'recordsets', lists['zones']))
        questions.ask(self._runtime, context, [members, records], SECONDS)
        context.check_in_time(self._runtime.now())
        every = [*first.values(), holding, members, records]
        return (Listing(lists, members.answer([]), records.answer([]), holding.answer([])),
                [{'what': each.what, 'reason': each.failure} for each in every if each.failure])

    def _without_owned(self, found_objects: Iterable[FoundObject], listing: Listing) -> list[FoundObject]:
        """Return the objects that no stack has."""
        with self._database.reader() as tx:
            return list(orphans.free(found_objects, listing, partial(resource_lists.owners, tx)))
