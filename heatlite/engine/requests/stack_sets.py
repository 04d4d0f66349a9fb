"""Questions about stack sets to the orchestration services of their members. A member that does not answer fails none.

Everything that changes a set is a create, an update or a delete of the stack that it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from keystoneauth1 import exceptions as services

from heatlite.common import exception, log_throttle, template_format
from heatlite.common.context import RequestContext
from heatlite.common.document_parts import mapping
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_SET_MEMBERS
from heatlite.common.runtime import Runtime
from heatlite.engine import clients
from heatlite.engine.clients import sessions
from heatlite.engine.requests import presenters, questions
from heatlite.engine.requests.questions import Question
from heatlite.language import environment as environments
from heatlite.planning.plan import PlanAction
from heatlite.rpc import messages

if TYPE_CHECKING:
    from heatlite.engine.clients.os.heat_plugin import OrchestrationClient
    from heatlite.engine.clients.os.keystone.client import Project

LOG = logging.getLogger(__name__)

SECONDS = 45.0                      # in which the members have to answer
SERVICE = 'orchestration'
CHANGES = dict.fromkeys(word for action, word in presenters.SHOWN_AS.items() if action is not PlanAction.UNKNOWN)
ADDED = presenters.SHOWN_AS[PlanAction.CREATE]

Member = Mapping[str, object]
Answer = dict[str, object]


class StackSets:
    """Answers questions about stack sets in threads of requests; each member is asked in a thread of `questions`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def regions(self, context: RequestContext, message: messages.ListRegions) -> list[str]:
        """Return the names of all regions of the caller's catalogue that have an orchestration service, sorted.

        Raises HTTPBadRequest without a login, HTTPServiceUnavailable if the cloud gives no token."""
        session = clients.of(context).context.keystone_session
        try:
            catalogue = sessions.access(session).service_catalog.get_endpoints(service_type=SERVICE)
        except (exception.AuthorizationFailure, AttributeError):        # a fixed endpoint has no catalogue
            catalogue = None
        except services.ClientException as error:
            log_throttle.log(LOG, logging.INFO, type(error).__name__, 'Reading the regions of the catalogue: %s: %s',
                             type(error).__name__, error)
            raise exception.HTTPServiceUnavailable(
                _('The regions cannot be read: the cloud gives no token.')) from error
        if catalogue is None:
            raise exception.HTTPBadRequest(_('The regions cannot be read: there is no login to a cloud.'))
        return sorted({region for endpoints in catalogue.values() for each in endpoints
                       if each and (region := each.get('region_id') or each.get('region'))})

    def projects(self, context: RequestContext, message: messages.ListProjects) -> list[dict[str, str]]:
        """Return id and name of the projects in which the caller has a role, as Keystone tells every user about itself.

        Raises HTTPBadRequest without a login, HTTPServiceUnavailable if Keystone does not answer."""
        try:
            own_projects = clients.of(context).client('keystone').client.projects.own()
        except exception.AuthorizationFailure:
            raise exception.HTTPBadRequest(_('The projects cannot be read: there is no login to a cloud.')) from None
        except services.ClientException as error:
            log_throttle.log(LOG, logging.INFO, type(error).__name__, 'Reading the projects of the caller: %s: %s',
                             type(error).__name__, error)
            raise exception.HTTPServiceUnavailable(
                _('The projects cannot be read: Keystone does not list them.')) from error
        meant = ({'id': str(each['id']), 'name': str(each['name'])} for each in own_projects if _is_meant(each,
                                                                                                          message))
        return sorted(meant, key=lambda each: (each['name'], each['id']))

    def preview(self, context: RequestContext, message: messages.PreviewStackSet) -> list[Answer]:
        """Return for each member {name, changes, reason}: numbers of resources by what an update would do to them, or
        why that is not known."""
        try:
            document = template_format.parse(message.template)
        except ValueError as error:
            raise exception.HTTPBadRequest(str(error)) from None

        def ask(heat: OrchestrationClient, member: Member) -> Answer:
            body: dict[str, object] = {'template': document, 'files': dict(message.files), 'environment': {
                environments.PARAMETERS: dict(mapping(member['parameters'])),
                environments.REGISTRY: dict(message.registry)}}
            if member.get('stack_id'):
                found = heat.http.put(f"{heat.stacks.path_of(str(member['stack_id']))}/preview", json=body).json()
                return {'changes': {key: len(found['resource_changes'].get(key) or ()) for key in CHANGES}}
            body['stack_name'] = f"{message.stack_name}-{member['name']}"
            found = heat.http.post('/stacks/preview', json=body).json()
            return {'changes': {**dict.fromkeys(CHANGES, 0), ADDED: len(found['stack'].get('resources') or ())}}

        return self._asked(context, message.members, ask, {'changes': None})

    def drift(self, context: RequestContext, message: messages.StackSetDrift) -> list[Answer]:
        """Return for each member {name, is_drifted, summary, looked_at, reason}, as the service of its region says it.

        `message.look`: its objects are compared now; otherwise it is what the last look has found."""

        def ask(heat: OrchestrationClient, member: Member) -> Answer:
            if not member.get('stack_id'):
                return {'reason': _('the member has no stack')}
            path = f"{heat.stacks.path_of(str(member['stack_id']))}/drift"
            found = (heat.http.post(path) if message.look else heat.http.get(path)).json()['drift']
            if found is None:
                return {'reason': _('the stack was not compared with the cloud yet')}
            return {key: found[key] for key in ('is_drifted', 'summary', 'looked_at')}

        return self._asked(context, message.members, ask, {'is_drifted': None, 'summary': None, 'looked_at': None})

    def _asked(self, context: RequestContext, members: Iterable[Member],
               ask: Callable[[OrchestrationClient, Member], Answer], unknown: Answer) -> list[Answer]:
        """Ask about all members at once. Raises TooLate."""
        every = list(members)[:MOST_SET_MEMBERS]
        plugin = clients.of(context).client_plugin('heat')

        def one(member: Member) -> Answer:
            try:
                heat = plugin.elsewhere(member.get('region_name') or context.region_name,
                                        member.get('credential_secret_id'), member.get('ca_cert'),
                                        bool(member.get('insecure')), member.get('project_id'))
                return ask(heat, member)
            except services.HTTPClientError as error:       # of the member's service, about the member's stack
                return {'reason': str(error.message or error).partition('\n')[0]}
            except exception.HeatException as error:
                return {'reason': str(error).partition('\n')[0]}

        asked = [Question('members of stack sets', partial(one, each), what=f"member {each['name']}") for each in every]
        questions.ask(self._runtime, context, asked, SECONDS)
        context.check_in_time(self._runtime.now())
        return [{'name': member['name'], **unknown, 'reason': question.failure or None, **question.answer({})}
                for member, question in zip(every, asked, strict=True)]


def _is_meant(project: Project, message: messages.ListProjects) -> bool:
    return bool(project.get('enabled', True)) and not project.get('is_domain') and (
        message.domain_id in (None, project.get('domain_id')) and message.parent_id in (None, project.get('parent_id'))
        and set(message.tags) <= set(project.get('tags') or ()))
