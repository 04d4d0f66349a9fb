"""One frozen dataclass per message from the API to an engine. The class name in snake case is the method.

`heatlite.api.bodies` builds messages from request bodies; a wrong field is an HTTPBadRequest that names it (`wrong`).
All but `Wake` are calls: the answer says "accepted and stored", the work goes on after it. Stacks are named by their
id; the API has looked them up within the caller's project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Final, Self, TypedDict, TypeVar

from heatlite.common import document_parts
from heatlite.common.api_call import SentCall
from heatlite.planning.protection import ProtectionDocument

# Sent beside the fields of the caller's context: when the caller stops waiting, ISO 8601 in UTC.
DEADLINE: Final = 'deadline'
# Beside it, for a user inside a stack: the project of the stack.
STACK_PROJECT: Final = 'stack_project'
# Beside these: the caller needs to know that the call has succeeded, and not its answer. Engines may send it anyhow.
DROPS_ANSWER: Final = 'drops_answer'
# Beside these, of a message that may be sent to two engines: which call it is.
CALL: Final = 'call'
# Among the arguments of such a message when it is sent to a second engine. One that does not know it refuses it.
IS_REPEATED: Final = 'is_repeated'
# Beside these while traces are on: the span that waits for the answer, as headers of W3C Trace Context.
TRACE: Final = 'trace'
# In the answers to a create and an update, beside the identity of the stack: the tag of the accepted definition
# (`planning.definition_tags`). Engines of release 0.1.0 do not send it.
DEFINITION_TAG: Final = 'definition_tag'
# Seconds after which a message that is `resent` goes to another engine, or a request is answered with the stored values
# where there are any: the engine that received it may have been killed or be frozen.
READ_TIMEOUT = 15.0

T = TypeVar('T')


class SentContext(TypedDict, total=False):
    """What is read of the context of a call as it is sent, beside the fields of `RequestContext`."""

    deadline: str
    stack_project: str | None
    drops_answer: bool
    call: SentCall
    trace: Mapping[str, object]


def default(each: Field[T]) -> object:
    """The default of a field; MISSING without one."""
    return each.default if each.default_factory is MISSING else each.default_factory()


@dataclass(frozen=True)
class Message:
    """Base class: converts itself to the arguments of a call and back."""

    answer: ClassVar[str] = ''              # what the call returns, as documentation
    timeout: ClassVar[float | None] = None  # seconds the sender waits at most; None: [DEFAULT] rpc_response_timeout
    reads: ClassVar[bool] = False           # it changes nothing, and ends when its caller has given up
    # A read that is also sent to a second engine when the first one does not answer. Not one whose work depends on what
    # the caller has written, or runs code of plug-ins for it: what has stopped the first engine stops the second, too.
    resent: ClassVar[bool] = False
    # The sender shows stored values instead when the first engine asked is of a release that does not know the message.
    is_optional: ClassVar[bool] = False

    @classmethod
    def method(cls) -> str:
        return re.sub(r'(?<!^)(?=[A-Z])', '_', cls.__name__).lower()

    def arguments(self) -> dict[str, object]:
        return {each.name: getattr(self, each.name) for each in fields(self)}      # without copying whole templates

    def sent(self) -> dict[str, object]:
        """The arguments as they are sent: without those that have their default.

        So a field that a receiver does not know asks for something (`unknown`).
        """
        return {each.name: value for each in fields(self)
                if (value := getattr(self, each.name)) != default(each)}

    @classmethod
    def unknown(cls, arguments: Mapping[str, object]) -> list[str]:
        """The fields of a newer release in what was sent. To ignore them would do something else than was asked for."""
        return sorted(arguments.keys() - {each.name for each in fields(cls)})

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, object]) -> Self:
        """Build the message from its fields, in a message or in a stored document. Ignores unknown fields."""
        return cls(**document_parts.known_fields(cls, arguments))


@dataclass(frozen=True)
class Source(Message):
    """The common fields of create, update, preview and validate: a template, its environment and its files.

    `template`: the parsed document; `environment`: parsed, with the request's parameters already merged into it;
    `environment_files`: names in `files`, merged by the engine in order. `files_container`: a container in the object
    storage with more files; the endpoint of the engine reads it, and use cases get None. `imports`: path of a resource
    -> what is imported into it, as the environment says it (`language.registry.import_of`), over what the environment
    says.
    """

    template: Mapping[str, object] | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    environment_files: tuple[str, ...] = ()
    files_container: str | None = None
    template_text: str | None = None        # as sent, for errors with line and column
    imports: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class CreateStack(Source):
    """Creates a stack. `adopt`: parsed adopt_stack_data, else None. `timeout_mins`: minutes, None for the default."""

    answer = 'identity of the stack: {tenant, stack_name, stack_id, path}'
    stack_name: str = ''
    timeout_mins: int | None = None
    disable_rollback: bool = True
    tags: tuple[str, ...] | None = None
    adopt: Mapping[str, object] | None = None


@dataclass(frozen=True)
class PreviewStack(CreateStack):
    reads = True
    answer = 'the stack as it would be: docs/spec/rest.rst, "Preview of a create"'


@dataclass(frozen=True)
class CheckCreate(CreateStack):
    """Checks everything that would refuse a create, and does nothing."""

    reads = True
    answer = 'None'


@dataclass(frozen=True)
class UpdateStack(Source):
    """Updates a stack. `existing`: PATCH. None leaves the stack's own value for timeout, rollback, converge.

    `if_match`: the update is refused unless the definition has one of these tags; None: any. Previews, checks and plans
    ignore it.
    """

    answer = 'identity of the stack'
    stack_id: str = ''
    existing: bool = False
    clear_parameters: tuple[str, ...] = ()
    timeout_mins: int | None = None
    disable_rollback: bool | None = None
    tags: tuple[str, ...] | None = None
    converge: bool | None = None
    if_match: tuple[str, ...] | None = None


@dataclass(frozen=True)
class PreviewUpdateStack(UpdateStack):
    reads = True
    answer = '{unchanged, updated, replaced, added, deleted, unknown}: lists of raw resources'
    show_nested: bool = False


@dataclass(frozen=True)
class CheckUpdate(UpdateStack):
    """Checks everything about the definition that would refuse an update, and does nothing."""

    reads = True
    answer = 'None'


CREATE, UPDATE, DELETE = PLANNED = ('create', 'update', 'delete')      # actions of plans


@dataclass(frozen=True)
class CreatePlan(UpdateStack):
    """Plans an action, with the fields of its own message. `stack_name`: of a create; `stack_id`: of the others.

    `revision`: of an update to the definition that has this number; the message has no other source."""

    answer = '{id} of the plan'
    action: str = CREATE
    stack_name: str = ''
    revision: int | None = None

    def as_create(self) -> CreateStack:
        """The create that this message plans."""
        return CreateStack.from_arguments(
            {**self.arguments(), 'disable_rollback': self.disable_rollback is not False})

    def as_update(self) -> UpdateStack:
        """The update that this message plans."""
        return UpdateStack.from_arguments(self.arguments())


@dataclass(frozen=True)
class ApprovePlan(Message):
    plan_id: str


@dataclass(frozen=True)
class ApplyPlan(Message):
    """Applies a plan. `digest`: the one that the caller has seen, or None."""

    answer = 'identity of the stack'
    plan_id: str
    digest: str | None = None


@dataclass(frozen=True)
class DeletePlan(Message):
    plan_id: str


@dataclass(frozen=True)
class SetProtections(Message):
    """Replaces the protections of a stack: planning.protection.Protection.to_json."""

    stack_id: str
    protections: tuple[ProtectionDocument, ...] = ()


@dataclass(frozen=True)
class ChangeProtections(Message):
    """Sets the protections of some paths, and removes those of others; all else stays. Answer: all of them."""

    stack_id: str
    protections: tuple[ProtectionDocument, ...] = ()
    remove: tuple[str, ...] = ()        # paths


@dataclass(frozen=True)
class LockStack(Message):
    stack_id: str
    reason: str


@dataclass(frozen=True)
class UnlockStack(Message):
    """Removes the lock of a stack. `of_anybody`: the caller may remove the lock of another user."""

    stack_id: str
    of_anybody: bool = False


@dataclass(frozen=True)
class LookForDrift(Message):
    """Compares the objects of a stack, and of those inside it, with its definition."""

    answer = 'a report: planning.drift.to_json'
    stack_id: str


@dataclass(frozen=True)
class ValidateTemplate(Source):
    reads = True
    answer = 'docs/spec/rest.rst, "Validating a template"'
    show_nested: bool = False
    ignore_errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class GenerateProjectTemplate(Message):
    """Writes the template of the objects of the caller's project: those of one of the types, with all tags, whose name
    fits the pattern, in one of the networks (names or ids). What is empty does not restrict."""

    answer: ClassVar[str] = 'template (text), imports, summary, in_stacks, unread'
    reads: ClassVar[bool] = True
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    name: str = ''
    networks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refactor(Message):
    """Moves resources between names and stacks, and renames stacks, without a change in the cloud.

    `stacks`: of each stack with a new definition the fields of UpdateStack, or of CreateStack for a new stack;
    `rename`: the new name of the stack. `moves`: {from: {stack, resource}, to: {stack, resource}}; a stack is its id,
    or the name of a new one.
    """

    answer: ClassVar[str] = 'stacks: [{id, stack_name, is_new}]; moves; differences, which a refactor has none of'
    stacks: tuple[Mapping[str, object], ...]
    moves: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class PreviewRefactor(Refactor):
    """Says whether a refactor is possible, with all differences that prevent it."""

    reads: ClassVar[bool] = True


@dataclass(frozen=True)
class ListRegions(Message):
    reads: ClassVar[bool] = True
    resent: ClassVar[bool] = True
    answer: ClassVar[str] = 'names of the regions of the catalogue that have an orchestration service'


@dataclass(frozen=True)
class ListProjects(Message):
    """Asks which projects the caller has a role in. Each field that is not None or empty leaves others out; `tags`: a
    project has them all."""

    reads: ClassVar[bool] = True
    resent: ClassVar[bool] = True
    answer: ClassVar[str] = '[{id, name}] of enabled projects, by name'
    domain_id: str | None = None
    parent_id: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class PreviewStackSet(Message):
    """Asks the services of the members of a stack set what an update would do there.

    `members`: {name, region_name, project_id, credential_secret_id, ca_cert, insecure, stack_id, parameters}; without
    a stack_id the stack is new. `template`: text; `registry`: resource_registry of the environment.
    """

    answer: ClassVar[str] = '[{name, changes, reason}]'
    stack_name: str
    template: str
    members: tuple[Mapping[str, object], ...]
    files: Mapping[str, str] = field(default_factory=dict)
    registry: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class StackSetDrift(Message):
    """Asks the services of the members of a stack set for the drift of their stacks. `members`: as in PreviewStackSet;
    `look`: the objects are compared now."""

    answer: ClassVar[str] = '[{name, is_drifted, summary, looked_at, reason}]'
    members: tuple[Mapping[str, object], ...]
    look: bool = False


@dataclass(frozen=True)
class ForceDeleteStack(Message):
    """Deletes a root stack; what is not deleted in time is left in the cloud."""

    stack_id: str


@dataclass(frozen=True)
class ReleaseStack(Message):
    """Deletes a root stack without its objects, which stay in the cloud."""

    stack_id: str


@dataclass(frozen=True)
class DeleteStack(Message):
    """Deletes a stack. `if_match`: as of `UpdateStack`."""

    stack_id: str
    if_match: tuple[str, ...] | None = None


@dataclass(frozen=True)
class StackAction(Message):
    """Starts an action. `action`: suspend, resume or check."""

    stack_id: str
    action: str


@dataclass(frozen=True)
class CancelStack(Message):
    """Cancels the running action; `rollback`: returns to the previous definition."""

    stack_id: str
    rollback: bool


@dataclass(frozen=True)
class AbandonStack(Message):
    answer = 'export document'
    stack_id: str


@dataclass(frozen=True)
class ExportStack(Message):
    reads = True
    resent = True
    answer = 'export document'
    stack_id: str


@dataclass(frozen=True)
class SnapshotStack(Message):
    answer = 'snapshot object'
    stack_id: str
    name: str | None = None


@dataclass(frozen=True)
class DeleteSnapshot(Message):
    stack_id: str
    snapshot_id: str


@dataclass(frozen=True)
class RestoreSnapshot(Message):
    stack_id: str
    snapshot_id: str


@dataclass(frozen=True)
class SignalResource(Message):
    """Sends a signal. `wait`: the answer is the resource's metadata after it was handled (cfn wait conditions), or None
    for a caller that drops it."""

    answer = 'metadata, or None'
    stack_id: str
    resource_name: str
    details: object = None
    wait: bool = False


@dataclass(frozen=True)
class MarkUnhealthy(Message):
    stack_id: str
    resource: str                           # name, physical id or reference id
    unhealthy: bool
    reason: str | None = None


@dataclass(frozen=True)
class ResourceAttributes(Message):
    """Reads live values of one resource. `names`: additional attributes (`with_attr`). `without_access`: those that
    give access to something (`policy.gives_access`) are not read."""

    answer = '{attribute: value}'
    timeout = READ_TIMEOUT
    is_optional = True
    stack_id: str
    resource_name: str
    names: tuple[str, ...] = ()
    without_access: bool = False


@dataclass(frozen=True)
class ResolveOutputs(Message):
    """Reads outputs again (an attribute declared as never cached, or a running stack)."""

    answer = 'list of {output_key, description, output_value, output_error?}'
    timeout = READ_TIMEOUT
    is_optional = True
    stack_id: str
    keys: tuple[str, ...] | None = None     # None: all


@dataclass(frozen=True)
class ListResourceTypes(Message):
    reads = True
    resent = True
    answer = 'list of names, or of {resource_type, description}'
    support_status: str | None = None
    name: str | None = None                 # regular expression, matched at the start
    version: str | None = None
    with_description: bool = False


@dataclass(frozen=True)
class ResourceSchema(Message):
    reads = True
    resent = True
    answer = 'docs/spec/rest.rst, "Resource types"'
    type_name: str
    with_description: bool = False


@dataclass(frozen=True)
class ListConstraintValues(Message):
    """Asks for values that a custom constraint accepts: objects that its service lists for the caller."""

    reads = True
    answer = 'values: [{id, name}]; is_whole; unread: why the list cannot be read, or None'
    constraint: str
    limit: int


@dataclass(frozen=True)
class GenerateTemplate(Message):
    """Generates a template for a resource type. `kind`: hot or cfn."""

    reads = True
    answer = 'a template'
    type_name: str
    kind: str = 'cfn'


@dataclass(frozen=True)
class CreateSoftwareConfig(Message):
    answer = 'docs/spec/rest.rst, "Objects of software"'
    name: str | None = None
    group: str | None = None
    config: object = None
    inputs: tuple[Mapping[str, object], ...] = ()
    outputs: tuple[Mapping[str, object], ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class DeleteSoftwareConfig(Message):
    config_id: str


@dataclass(frozen=True)
class CreateSoftwareDeployment(Message):
    answer = 'docs/spec/rest.rst, "Objects of software"'
    config_id: str = ''
    server_id: str = ''
    input_values: Mapping[str, object] = field(default_factory=dict)
    action: str | None = None
    status: str | None = None
    status_reason: str | None = None
    stack_user_project_id: str | None = None


@dataclass(frozen=True)
class UpdateSoftwareDeployment(Message):
    answer = 'docs/spec/rest.rst, "Objects of software"'
    deployment_id: str = ''
    config_id: str | None = None
    input_values: Mapping[str, object] | None = None
    output_values: Mapping[str, object] | None = None
    action: str | None = None
    status: str | None = None
    status_reason: str | None = None


@dataclass(frozen=True)
class CollectDeployment(Message):
    """Stores the result that a server has left in Swift or Zaqar for a deployment outside stacks, if there is one."""

    timeout = READ_TIMEOUT
    is_optional = True
    deployment_id: str


@dataclass(frozen=True)
class DeleteSoftwareDeployment(Message):
    deployment_id: str


@dataclass(frozen=True)
class PutMetricData(Message):
    """Stores datapoints of one namespace: {name, dimensions: [[name, value], ...], at: seconds since 1970 or None,
    unit, samples, total, smallest, largest, high_resolution}. All are stored when it is answered, or none."""

    namespace: str
    data: tuple[Mapping[str, object], ...]


@dataclass(frozen=True)
class PutAlarm(Message):
    """Creates an alarm, or changes its rule. `rule`: `Rule.to_json` of `monitoring.alarms`.

    `actions_enabled` None: as it is."""

    name: str
    rule: Mapping[str, object]
    actions_enabled: bool | None = None


@dataclass(frozen=True)
class DeleteAlarms(Message):
    """Deletes alarms, all or, if one is not there, none. Those of stacks are refused."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class SetAlarmState(Message):
    """Sets the state until the next evaluation. `state`: of `monitoring.alarms.STATES`, not SUSPENDED.

    `reason_data`: JSON."""

    name: str
    state: str
    reason: str
    reason_data: str | None = None


@dataclass(frozen=True)
class EnableAlarmActions(Message):
    """Enables the actions of alarms, or disables them."""

    names: tuple[str, ...]
    enabled: bool


@dataclass(frozen=True)
class Wake(Message):
    """Asks one engine, or any, to look at this stack (a cast). Losing it costs a sweep interval, not a stack."""

    stack_id: str


# Changes that an engine recognizes when they come twice (`engine.requests.repeated_calls`): they are accepted once.
ACCEPTED_ONCE: Final = frozenset({CreateStack, UpdateStack, DeleteStack, StackAction, CancelStack, RestoreSnapshot})
# With those that are `resent`, what is also sent to a second engine once the first one may have ended. A request that
# ends its engine ends two, and no more.
REPEATED: Final = ACCEPTED_ONCE | {ResolveOutputs, ResourceAttributes}
