"""Makes the credentials under which a stack acts after its request has ended (docs/spec/engine.rst, "Credentials").

A trust is made only for stacks that will need one: those with a type that may call a service.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Unpack

from keystoneauth1 import exceptions as services
from oslo_config import cfg

from heatlite.common import allowance, commits, crypt, exception
from heatlite.common.adaptive_limit import AdaptiveLimit
from heatlite.common.context import RequestContext, StoredContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db.credentials import Credentials
from heatlite.db.errors import Busy, Contention
from heatlite.db.stack_sets import ACTING_BY_TOKEN
from heatlite.engine import clients
from heatlite.engine.clients import logins
from heatlite.engine.durability.request_ids import Ids
from heatlite.engine.reconcile.revisions import encoded
from heatlite.engine.resource import Resource
from heatlite.engine.types.contract_names import is_built_in
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language.definition import StackDefinition
from heatlite.rpc import slots

LOG = logging.getLogger(__name__)

MOST_TRUSTS = 8                 # that this engine lets Keystone make at once, while it is quick
SLOW_TRUST = 2.0                # seconds; callers wait longer by default (rpc_response_timeout)
LONGEST_WAIT = 60.0             # seconds, of threads without a deadline
FOR_GOOD = (403, 404)           # of a login with a trust: forbidden, and no such trust

# A type that acts by a token, or a template whose text is not at hand, in the text of a template or an environment.
NAMED = re.compile(rf'(?:{"|".join(sorted(ACTING_BY_TOKEN))}|TemplateURL)(?![\w:])')


class Authority:
    """Makes, compares and deletes credentials of stacks: in threads of requests, and of runners whose action ends."""

    def __init__(self, runtime: Runtime, registry: TypeRegistry) -> None:
        self._runtime = runtime
        self._registry = registry
        self._trusts = AdaptiveLimit(runtime, MOST_TRUSTS, SLOW_TRUST)

    def record(self, context: RequestContext, definition: StackDefinition, now: datetime,
               acts_by_token: bool, needs_service: bool = False) -> Credentials | None:
        """Return the credentials to store with a stack, or None. `acts_by_token`: see `needs_token`; `needs_service`:
        whether the stack may call services even if its definition has no type that does, to delete what it has.

        The caller must not wait for anything before the block `unless_refused`, which deletes a trust if the request
        ends. Raises Forbidden if Keystone refuses a trust that is needed, MissingCredentialError without a password
        that is needed."""
        if not context.user_id:
            return None                             # no user: the service's own cloud, if any
        unsecured = Credentials(
            id=self._runtime.uuid(), project_id=context.project_id, project_name=context.project_name,
            user_id=context.user_id, username=context.username, auth_url=context.auth_url,
            region_name=context.region_name, trust_id=None, trustor_user_id=None, password=None, token=None,
            method=None, created_at=now)
        if not context.own_token or not (needs_service or self._needs_a_service(definition)):
            return unsecured
        has_password = cfg.CONF.deferred_auth_method == 'password'
        secured = self._with_password(context, unsecured) if has_password else self._with_trust(context, unsecured)
        return self.with_token(context, secured) if acts_by_token else secured

    @staticmethod
    def with_token(context: RequestContext, stored: Credentials) -> Credentials:
        """Return `stored` with the token of the request for the time of its action.

        Stacks in other projects and regions need it: Keystone exchanges no token of a trust, and makes no further trust
        for one."""
        if not context.own_token:
            return stored
        method, token = crypt.encrypt(context.own_token)

        def again(secret: str | None) -> str | None:
            return None if secret is None else crypt.encrypt(crypt.decrypt(stored.method, secret))[1]

        return replace(stored, method=method, token=token, trust_id=again(stored.trust_id),
                       password=again(stored.password))

    def needs_token(self, definition: StackDefinition) -> bool:
        """Whether resources of the stack, or of stacks nested in it, may act by the token of its requests.

        The nested ones are searched for in the texts of templates: what is found may be no type. A template that is
        not among the files counts as one with such a type; a name that functions compose is not found."""
        nests = False
        for type_name, names in definition.names_by_type.items():
            try:
                found = definition.environment.find(type_name, names[0])
                kind = self._registry.resolve(type_name, names[0], definition.environment)
            except exception.HeatException:
                continue                            # the use of the type reports the error
            if kind.keeps_token or (found.is_template and str(found.target) not in definition.files):
                return True
            nests = nests or hasattr(kind, 'child_template')
        return nests and any(NAMED.search(text) for text in _texts(definition))

    @staticmethod
    def is_of(stored: Credentials | None, context: RequestContext) -> bool:
        """Whether the stored credentials are the caller's; otherwise an update stores new ones."""
        return stored is None or not context.user_id or (
            stored.user_id == context.user_id and stored.project_id == context.project_id)

    @staticmethod
    def is_dead(stored: Credentials | None) -> bool:
        """Return whether Keystone refuses the trust of stored credentials for good. False if that is not known, as
        during an outage."""
        if stored is None or stored.trust_id is None:
            return False
        try:
            client = clients.of(context_of(replace(stored, token=None))).client('keystone')
            return bool(client.is_trust_dead()) if hasattr(client, 'is_trust_dead') else False      # an operator's own
        except Exception as error:
            LOG.info('Whether the trust of stack credentials %s is in force is not known: %s', stored.id, error)
            return False

    def delete_trust(self, stored: Credentials, context: RequestContext | None = None) -> bool:
        """Delete a trust that is no longer needed. A failure is only logged. `context`: of its user; None: of the trust
        itself.

        Returns False if the trust is left and a later attempt may delete it, as after an outage of Keystone, or while
        it refuses the service user. What Keystone forbids, as for a user who is disabled, it forbids again."""
        if stored.trust_id is None:
            return True
        try:
            trust_id = crypt.decrypt(stored.method, stored.trust_id)
            client = clients.of(context or context_of(stored)).client('keystone')
            getattr(client, 'end_trust', client.delete_trust)(trust_id)     # an operator's own client may be as Heat's
        except Exception as error:
            LOG.warning('The trust of stack credentials %s could not be deleted: %s', stored.id, error)
            return isinstance(error, services.Forbidden) or (
                isinstance(error, logins.LoginRefused) and error.status in FOR_GOOD)
        return True

    @contextmanager
    def unless_refused(self, context: RequestContext, new_credentials: Iterable[Credentials | None]) -> Iterator[None]:
        """Delete the trusts of `new_credentials` if the block ends with an error and has certainly stored nothing:
        before its first commit, or with a refusal of the request. They stay if a commit may have succeeded. `context`:
        of the request."""
        before = commits.begun()
        try:
            yield
        except BaseException as error:
            if _is_refusal(error) or commits.begun() == before:
                self.delete_unstored(context, new_credentials)
            raise

    def delete_unstored(self, context: RequestContext, new_credentials: Iterable[Credentials | None]) -> None:
        """Delete the trusts of credentials that a request has made and not stored. Failures are only logged."""
        with allowance.held():
            for each in new_credentials:
                if each is not None and each.trust_id is not None and not _is_of_token(each, context):
                    self.delete_trust(each, context)

    def delete_project(self, project_id: str, context: RequestContext) -> None:
        """Delete the project of the users inside the stack, with the users. A failure is only logged."""
        try:
            clients.of(context).client('keystone').delete_stack_domain_project(project_id)
        except Exception as error:
            LOG.warning('The project %s of users inside a stack could not be deleted: %s', project_id, error)

    def _needs_a_service(self, definition: StackDefinition) -> bool:
        if definition.environment.event_sinks:
            return True                             # events are sent to them with the credentials of the stack's owner
        for type_name, names in definition.names_by_type.items():
            for name in names if definition.environment.registry.is_by_resource else names[:1]:
                try:
                    kind = self._registry.resolve(type_name, name, definition.environment)
                except exception.HeatException:
                    return True                     # the use of the type reports the error
                if _may_call_a_service(kind):
                    return True
        return False

    def _with_trust(self, context: RequestContext, stored_credentials: Credentials) -> Credentials:
        try:
            with self._room_for_a_trust(), allowance.held():    # what it makes must be stored, or deleted again
                trusted = clients.of(context).client('keystone').create_trust_context()
        except (services.Forbidden, services.Unauthorized, logins.LoginRefused) as error:
            LOG.info('Keystone made no trust: %s', error)
            raise exception.Forbidden(_('resources that act in your name later: Keystone lets this token make no trust '
                                        '(tokens of EC2 keys, trusts and restricted application credentials cannot)')
                                      ) from error
        method, secret = crypt.encrypt(trusted.trust_id)
        return replace(stored_credentials, trust_id=secret, trustor_user_id=trusted.trustor_user_id, method=method)

    @contextmanager
    def _room_for_a_trust(self) -> Iterator[None]:
        """Wait, without a slot of the engine, while Keystone is slow and makes others. Raises TooLate."""
        request = allowance.current()

        def left() -> float:
            return LONGEST_WAIT if request is None else request.left()
        if not self._trusts.has_room():
            slots.release()                         # requests that need no trust go on
        with self._trusts.room(left()):
            slots.take_again(left())
            with self._trusts.measured():
                yield

    def _with_password(self, context: RequestContext, stored_credentials: Credentials) -> Credentials:
        if not context.password:
            raise exception.MissingCredentialError(required='X-Auth-Key')
        method, secret = crypt.encrypt(context.password)
        return replace(stored_credentials, password=secret, method=method)


def _is_refusal(error: BaseException) -> bool:
    """Whether nothing is stored of a request that ends with this error."""
    if isinstance(error, exception.DatabaseUnavailable):
        return isinstance(error, Busy | Contention)
    return isinstance(error, exception.HeatException | services.ClientException | allowance.DeadlinePassed)


def _is_of_token(stored: Credentials, context: RequestContext) -> bool:
    """Whether the trust is that of the caller's own token, which is not made for a request."""
    return context.trust_id is not None and context.trust_id == crypt.decrypt(stored.method, stored.trust_id)


def context_of(stored: Credentials, **ids: Unpack[Ids]) -> RequestContext:
    """Return the context in which stored credentials act. `ids`: of a request."""
    def clear(secret: str | None) -> str | None:
        return crypt.decrypt(stored.method, secret) if secret else None

    return StoredContext(
        project_id=stored.project_id, project_name=stored.project_name, user_id=stored.user_id,
        username=stored.username, auth_url=stored.auth_url, region_name=stored.region_name,
        trustor_user_id=stored.trustor_user_id, trust_id=clear(stored.trust_id), auth_token=clear(stored.token),
        password=clear(stored.password), overwrite=False, **ids)


def _may_call_a_service(kind: type[Resource]) -> bool:
    """A plug-in may use the session of its context, or name a client in its calls only: so a type of a plug-in may call
    one unless the plug-in states `requires_deferred_auth = False` itself."""
    if kind.default_client_name is not None or kind.requires_deferred_auth:
        return True
    stating = next(each for each in kind.__mro__ if 'requires_deferred_auth' in vars(each))
    return is_built_in(stating) and not is_built_in(kind)


def _texts(definition: StackDefinition) -> Iterator[str]:
    """Return the texts that may name types of nested stacks."""
    yield from definition.files.values()
    yield encoded(definition.template)
    yield json.dumps(definition.environment.document(), default=str)
