"""The base of types whose body is a stack of its own (docs/spec/plugins.rst, "Base classes for types").

The nested stack is a stack with its own row and owner: handlers ask for something and return a cookie of plain JSON,
checks ask whether that is over. Whatever was asked for goes on by itself when this engine dies meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NotRequired, Protocol, TypedDict

from heatlite.common import exception, grouputils
from heatlite.common.exception import UpdateReplace
from heatlite.common.i18n import _
from heatlite.common.identifier import HeatIdentifier
from heatlite.engine import attributes, resource
from heatlite.engine.resource_stack import OwnStack
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.template import Template

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties
    from heatlite.engine.resource_update import Updates
    from heatlite.language.facts import Nested
    from heatlite.planning.states import ResourceState


class Cookie(TypedDict):
    """The action that runs in a nested stack: its id, the number of the request and the action."""

    stack: str
    generation: int
    action: str
    then: NotRequired[str]                  # the action that begins once this one has ended
    until: NotRequired[str]                 # of groups: the end of the pause before the next batch
    wanted: NotRequired[WantedGroup]             # of groups: what the batches lead to


class WantedGroup(TypedDict):
    """The definition of a group as stored, and the properties of it."""

    definition: dict[str, object]
    properties: dict[str, object]
    size: NotRequired[int]


class NestedOutput(TypedDict, total=False):
    """An output as stored. `live`: it is computed when it is read. `cause`: the error of one that was computed now."""

    output_key: str
    output_value: object
    output_error: str
    live: bool
    cause: Exception


class NestedRow(Protocol):
    """The part of the row of a nested stack that is used here."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def project_id(self) -> str: ...

    @property
    def action(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def outputs(self) -> Sequence[NestedOutput] | None: ...


class NestedView(OwnStack, Protocol):
    """A nested stack, for reading."""

    def present_outputs(self) -> Mapping[str, NestedOutput]: ...


class StackResource(resource.Resource):
    """A resource that is a stack. Types override `child_template()` and `child_params()`."""

    requires_deferred_auth = True
    always_inspected = True                 # an update always reaches the members: they decide
    accepts_any_attribute: ClassVar[bool] = True        # the outputs of the nested stack
    waiting: Collection[str] = ()           # for groups: members whose batch comes after the next update
    is_signalled = False                    # for groups: a signal asks for the updates, not an action of the stack
    own_names: ClassVar[Collection[str]] = ()           # one of them is in each nested template of the type
    nested_members: Nested | None = None    # for groups: the members' template for the checks, see TypeFacts.nested

    def __init__(self, name: str, definition: ResourceDefinition, stack: OwnStack) -> None:
        super().__init__(name, definition, stack)
        self._row_is_read = False
        self._nested_row: NestedRow | None = None
        self._nested: NestedView | None = None
        self._present_outputs: Mapping[str, NestedOutput] | None = None

    # --- for types to answer ------------------------------------------------------------------------------

    def child_template(self) -> object:
        """The nested stack's template: a Template, or its document."""
        raise NotImplementedError(f'{type(self).__name__}.child_template')

    def child_params(self) -> Mapping[str, object]:
        """Return the parameters of the nested stack."""
        return {}

    def child_template_files(self, child_env: object = None) -> Mapping[str, str]:
        """Nested stacks share the files of the whole tree."""
        files: Mapping[str, str] = self.stack.defn.files
        return files

    @classmethod
    def is_own(cls, resources: Mapping[str, object]) -> bool:
        """Whether a nested template with these resources may be of this type, not of one of that name in Heat."""
        return not cls.own_names or not resources or any(name in resources for name in cls.own_names)

    @property
    def template_url(self) -> str | None:
        return None

    # --- counting -----------------------------------------------------------------------------------------

    def check_size(self, count: int) -> None:
        """Raise RequestLimitExceeded unless the nested stack may have `count` resources.

        To be called before names, members or a template of that size are built. Types with a size (`get_size`) are
        asked for it before their `child_template` is.
        """
        self.stack.check_room(self, count)

    def counted_template(self) -> object:
        """`child_template`, once the tree is known to have room for as many members as the type says."""
        get_size = getattr(self, 'get_size', None)
        if get_size is not None:
            self.check_size(get_size())
        return self.child_template()

    def preview_template(self, prop_diff: Mapping[str, object]) -> object:
        """For previews: the template that an update with these changed properties, or a creation, ends with.

        `self.properties` are the new ones. Nothing is noted or asked for.
        """
        return self.counted_template()

    def validate_nested_stack(self) -> None:
        """Do nothing: the checks of the root stack include nested ones."""

    # --- asking for something -----------------------------------------------------------------------------

    def create_with_template(self, child_template: object, user_params: Mapping[str, object] | None = None,
                             timeout_mins: int | None = None, adopt_data: object = None) -> Cookie:
        """The cookie for `check_create_complete`. A nested stack that an interrupted try has left is taken over."""
        cookie: Cookie = self.stack.nesting.create(
            self, as_template(child_template), user_params, timeout_mins=timeout_mins, adopt=adopt_data)
        self.forget_nested()
        self.resource_id_set(cookie['stack'])
        return cookie.copy()

    def update_with_template(self, child_template: object, user_params: Mapping[str, object] | None = None,
                             timeout_mins: int | None = None) -> Cookie:
        """The cookie for `check_update_complete`. Where no nested stack was ever made, one is made now."""
        if self.resource_id is None:
            found = self.stack.nesting.find(self)
            if found is None:
                return self.create_with_template(child_template, user_params, timeout_mins)
            self.resource_id_set(found.id)
        self._check_own()
        self.forget_nested()
        waiting, self.waiting = self.waiting, ()
        cookie: Cookie = self.stack.nesting.update(
            self, as_template(child_template), user_params, timeout_mins=timeout_mins, converge=self.stack.converge,
            waiting=waiting, is_signalled=self.is_signalled)
        return cookie.copy()

    def delete_nested(self) -> object:
        """The cookie for `check_delete_complete`; None when there is nothing (any more)."""
        if self.resource_id is None:
            return None
        self.forget_nested()
        try:
            return dict(self.stack.nesting.act(self, self.DELETE))
        except exception.NotFound:
            return None
        except exception.EntityNotFound:
            return None

    def find_existing(self) -> str | None:
        """The id of the nested stack, when a crash took the answer away."""
        found = self.stack.nesting.find(self)
        return found.id if found is not None and found.deleted_at is None else None

    # --- its life -----------------------------------------------------------------------------------------

    def handle_create(self) -> object:
        return self.create_with_template(self.counted_template(), self.child_params())

    def handle_adopt(self, resource_data: Mapping[str, object] | None = None) -> object:
        return self.create_with_template(self.counted_template(), self.child_params(), adopt_data=resource_data or {})

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> object:
        self.take_properties(json_snippet)
        return self.update_with_template(self.counted_template(), self.child_params())

    def _check_own(self) -> None:
        template = self.stack.nesting.template(self) if self.own_names else None
        if template is not None and not self.is_own(template.section('resources') or {}):
            raise exception.Error(_('Another type named %s made the nested stack: all would be replaced') % self.type())

    def handle_delete(self) -> object:
        return self.delete_nested()

    def handle_suspend(self) -> object:
        return self._pass_down(self.SUSPEND)

    def handle_resume(self) -> object:
        return self._pass_down(self.RESUME)

    def handle_check(self) -> object:
        return self._pass_down(self.CHECK)

    def _pass_down(self, action: str) -> Cookie:
        try:
            if self.resource_id is not None:
                begun: Cookie = self.stack.nesting.act(self, action)
                return begun.copy()
        except exception.EntityNotFound:
            pass
        except exception.ActionInProgress:          # an update by a user or by a signal, which would be lost
            return {**self._cookie_of_what_runs(), 'then': action}
        raise exception.Error(_('Cannot %(action)s %(name)s, stack not created')
                              % {'action': action.lower(), 'name': self.name})

    def check_create_complete(self, cookie: Cookie | None = None) -> bool:
        return self.is_nested_done(cookie or self._cookie_of_what_runs())

    def check_adopt_complete(self, cookie: Cookie | None = None) -> bool:
        return self.is_nested_done(cookie or self._cookie_of_what_runs())

    def check_update_complete(self, cookie: Cookie | None = None) -> bool:
        return self.is_nested_done(cookie or self._cookie_of_what_runs())

    def check_delete_complete(self, cookie: Cookie | None = None) -> bool:
        return cookie is None or self.is_nested_done(cookie)

    def check_suspend_complete(self, cookie: Cookie | None = None) -> bool:
        return self.is_nested_done(cookie or self._cookie_of_what_runs())

    def check_resume_complete(self, cookie: Cookie | None = None) -> bool:
        return self.is_nested_done(cookie or self._cookie_of_what_runs())

    def check_check_complete(self, cookie: Cookie | None = None) -> bool:
        return self.is_nested_done(cookie or self._cookie_of_what_runs())

    def is_nested_done(self, cookie: Cookie) -> bool:
        """Raise what the nested stack failed of."""
        if 'then' in cookie:
            nested = self.stack.nesting.find(self)
            if nested is None or nested.status != self.IN_PROGRESS:
                cookie.update(self._pass_down(cookie.pop('then')))      # however that has ended
            return False
        done = bool(self.stack.nesting.is_done(self, cookie))
        if done:
            self.forget_nested()
        return done

    def _cookie_of_what_runs(self) -> Cookie:
        """Return the cookie of the action in progress, for a check after a crash: the result of the handler is lost."""
        found = self.stack.nesting.find(self)
        if found is None:
            raise exception.Error(_('The nested stack of %s is gone') % self.name)
        if found.action == self.DELETE:     # a user deletes it: its end is not that of this action
            raise exception.Error(_('The nested stack of %s is being deleted') % self.name)
        return {'stack': found.id, 'generation': found.generation, 'action': found.action}

    def handle_create_cancel(self, cookie: object) -> None:
        self.stack.nesting.cancel(self)

    def handle_update_cancel(self, cookie: object) -> None:
        self.stack.nesting.cancel(self)

    def handle_preempt(self) -> bool:
        """Also between two batches, when nothing runs in the nested stack."""
        self.stack.nesting.cancel(self)
        return True

    # --- what an update means -----------------------------------------------------------------------------

    def needs_replace_failed(self) -> bool:
        return False                        # the nested stack goes on from where it is

    def _needs_update(self, after: object, before: object, after_props: Properties, before_props: Properties,
                      prev_resource: Updates, check_init_complete: bool = True) -> bool:
        """Always true, unless only a new one will do."""
        if self.state == (self.DELETE, self.COMPLETE) or (
                check_init_complete and self.state == (self.INIT, self.COMPLETE)):
            raise UpdateReplace(str(self))
        nesting = getattr(self.stack, 'nesting', None)      # a preview has none
        if self.resource_id is not None and nesting is not None:
            nested = nesting.find(self)
            if nested is None or nested.deleted_at is not None or nested.action == self.DELETE:
                raise UpdateReplace(str(self))
            marked = self.state == (self.CHECK, self.FAILED)
            if marked and (nested.action, nested.status) != (self.CHECK, self.FAILED):
                raise UpdateReplace(str(self))   # it was marked unhealthy, not found so
        if self.needs_replace(after_props):
            raise UpdateReplace(str(self))
        return True

    def take_properties(self, wanted: ResourceDefinition) -> None:
        """The definition that an update brings: from now on `self.properties` are the new ones."""
        self.t = wanted
        found = wanted.properties(self._schemata(), self.context)
        self.translate_properties(found)
        self.properties = found
        self._update_policy = None

    # --- looking at the nested stack ----------------------------------------------------------------------

    def forget_nested(self) -> None:
        """Read the nested stack again when it is next used: it has changed, or will."""
        self._row_is_read, self._nested_row, self._nested, self._present_outputs = False, None, None, None

    def nested_row(self) -> NestedRow | None:
        """Return the row of the nested stack; None when there is none. Read once for each piece of work."""
        if not self._row_is_read:
            nesting = getattr(self.stack, 'nesting', None)
            self._nested_row, self._row_is_read = nesting.row(self) if nesting is not None else None, True
        return self._nested_row

    def member_rows(self) -> list[ResourceState]:
        """Return the rows of the resources of the nested stack, also of replaced ones."""
        nesting = getattr(self.stack, 'nesting', None)
        return nesting.members(self) if nesting is not None else []

    def nested(self) -> NestedView | None:
        """The nested stack as types see stacks, for reading; None when there is none."""
        if self._nested is None and self.resource_id is not None:
            nesting = getattr(self.stack, 'nesting', None)
            self._nested = nesting.stack(self) if nesting is not None else None
        return self._nested

    def has_nested(self) -> bool:
        return self.nested_row() is not None

    def nested_identifier(self) -> HeatIdentifier | None:
        row = self.nested_row()
        return HeatIdentifier(row.project_id, row.name, row.id) if row is not None else None

    def get_output(self, op: str) -> object:
        """The value of an output, None before it is known. While an action of the nested stack runs, it is that of this
        moment. Raises NotFound, or TemplateOutputError for one that cannot be computed, from its cause if known."""
        output = self._output(op)
        if output is not None and output.get('live'):
            output = self._outputs_now().get(op)
        if output is None:
            raise exception.NotFound(_('Specified output key %s not found.') % op)
        if output.get('output_error'):
            raise exception.TemplateOutputError(
                resource=self.name, attribute=op, message=output['output_error']) from output.get('cause')
        return output['output_value']

    def has_output(self, op: str) -> bool:
        return self._output(op) is not None

    def _output(self, op: str) -> NestedOutput | None:
        """As stored; of a nested stack in progress, as it is now, since the stored ones are of the action before."""
        row = self.nested_row()
        if row is None:
            return None
        stored = next((output for output in row.outputs or () if output['output_key'] == op), None)
        if row.status != self.IN_PROGRESS or row.action == self.DELETE:
            return stored
        if stored is None and row.action in (self.CREATE, self.ADOPT):      # a new stack is stored with all its keys
            return None
        return self._outputs_now().get(op)

    def _outputs_now(self) -> Mapping[str, NestedOutput]:
        if self._present_outputs is None:
            nested = self.nested()
            self._present_outputs = nested.present_outputs() if nested is not None else {}
        return self._present_outputs

    # --- attributes ---------------------------------------------------------------------------------------

    def get_attribute(self, key: str, *path: object) -> object:
        """Declared ones, else outputs of the nested stack, else `resource.<member>...`."""
        if key.startswith('resource.'):
            return grouputils.get_nested_attrs(self, key, False, *path)
        if key in self.attributes_schema or not self.has_output(key):
            return super().get_attribute(key, *path)
        return attributes.select_from_attribute(self.get_output(key), path)

    def _resolve_attribute(self, name: str) -> object:
        return self.get_output(name) if self.resource_id is not None else None


def as_template(template: object) -> Template:
    """Return a template. `template`: one, or a document. Raises Error."""
    if isinstance(template, Template):
        return template
    if isinstance(template, Mapping):
        return Template(dict(template), source='nested_stack')
    raise exception.Error(_('A nested template must be a map, not %s') % type(template).__name__)
