"""Expressions: data with function calls in it, parsed once, evaluated against scopes any number of times.

Data without a call stays plain data; a map or list with a call somewhere inside becomes a `MapNode` or `ListNode`, a
call an instance of its function's class. Arguments are refused in three phases: parsing (P) and checking (V) raise
`InvalidCall`, which collects the path on its way up; evaluation (E) raises what the function raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Protocol, TypeAlias

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.limits import Limits, exceeded
from heatlite.common.template_files import Files
from heatlite.language import budget as budgets
from heatlite.language.budget import Budget
from heatlite.language.unknown import UNKNOWN, is_known


class Scope(Protocol):
    """What is known of resources while expressions are evaluated."""

    def reference(self, resource_name: str) -> object: ...

    def attribute(self, resource_name: str, attribute: str, path: tuple[object, ...]) -> object: ...

    def all_attributes(self, resource_name: str) -> object: ...


class PlaceholderScope:
    """A scope without existing resources: a reference is the resource's name, attributes are null."""

    def reference(self, resource_name: str) -> object:
        return resource_name

    def attribute(self, resource_name: str, attribute: str, path: tuple[object, ...]) -> object:
        return None

    def all_attributes(self, resource_name: str) -> object:
        return None


class UnknownScope:
    """A scope without existing resources: all values are unknown."""

    def reference(self, resource_name: str) -> object:
        return UNKNOWN

    def attribute(self, resource_name: str, attribute: str, path: tuple[object, ...]) -> object:
        return UNKNOWN

    def all_attributes(self, resource_name: str) -> object:
        return UNKNOWN


PLACEHOLDERS = PlaceholderScope()
UNKNOWNS = UnknownScope()


class Absent:
    """The value of an `if` without its third argument: the surrounding list or map omits it."""

    def __repr__(self) -> str:
        return '<nothing>'


ABSENT = Absent()


class InvalidCall(Exception):
    """An invalid call: `text` is the reason, `path` its place below where parsing or checking began."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.path: list[object] = []
        self.cause: exception.HeatException | None = None
        super().__init__(text)

    def at(self, *prefix: object) -> exception.StackValidationFailed:
        return exception.StackValidationFailed(path=[*prefix, *self.path], message=self.text)


class EvaluationContext(Protocol):
    """What calls use of the definition that contains them, besides the scope."""

    version: str
    limits: Limits
    assume_unknown: bool

    @property
    def has_unknown_parameters(self) -> bool: ...

    @property
    def parameters(self) -> Mapping[str, object]: ...

    @property
    def files(self) -> Files: ...

    @property
    def mappings(self) -> object: ...

    @property
    def resource_names(self) -> frozenset[str]:
        """Names of enabled resources."""

    def condition(self, name: object) -> bool:
        """Whether a condition, given by name or as a boolean, holds. Raises ValueError for an invalid condition."""

    def parse_condition(self, value: object) -> object:
        """Parse a condition expression. Raises InvalidCall."""

    def facade(self, part: str) -> object:
        """`metadata`, `deletion_policy`, `update_policy` of the parent's resource that owns this stack."""

    def attribute_exists(self, resource_name: str, attribute: str) -> bool | None:
        """Whether the resource has the attribute; None: unknown."""


class Node:
    """An expression with at least one call in it. `refers`: one of its calls reads a value that may be UNKNOWN."""

    __slots__ = ('refers',)
    refers: bool

    def value(self, scope: Scope) -> object:
        raise NotImplementedError

    def parts(self) -> Iterator[tuple[object, object]]:
        """Its direct parts, each with its part of the path."""
        raise NotImplementedError


class MapNode(Node):
    __slots__ = ('entries',)

    def __init__(self, entries: dict[str, object]) -> None:
        self.entries = entries
        self.refers = any(isinstance(item, Node) and item.refers for item in entries.values())

    def __repr__(self) -> str:
        return repr(self.entries)

    def value(self, scope: Scope) -> dict[str, object]:
        result = {}
        for key, item in self.entries.items():
            found = evaluate(item, scope)
            if found is not ABSENT:
                result[key] = found
        return result

    def parts(self) -> Iterator[tuple[object, object]]:
        return iter(self.entries.items())


class ListNode(Node):
    __slots__ = ('items',)

    def __init__(self, items: list[object]) -> None:
        self.items = items
        self.refers = any(isinstance(item, Node) and item.refers for item in items)

    def __repr__(self) -> str:
        return repr(self.items)

    def value(self, scope: Scope) -> list[object]:
        return [found for item in self.items if (found := evaluate(item, scope)) is not ABSENT]

    def parts(self) -> Iterator[tuple[object, object]]:
        return enumerate(self.items)


class Call(Node):
    """One function call. Subclasses are the functions: `check` runs while parsing, `result` computes the value.

    `args` are the parsed arguments. `positional`: a list of arguments whose positions count, so an absent one becomes
    null.
    """

    __slots__ = ('args', 'home', 'name')
    asks_resources: ClassVar[bool] = False
    uses_files: ClassVar[bool] = False          # of the stack
    uses_facade: ClassVar[bool] = False         # the resource of the parent that owns the stack
    raw_args: ClassVar[bool] = False            # the arguments are not parsed before the call (only `if`)
    positional: ClassVar[bool] = True

    def __init__(self, name: str, args: Any, home: EvaluationContext) -> None:
        self.name = name
        self.args = args
        self.home = home
        self.refers = self.asks_resources or (isinstance(args, Node) and args.refers)
        self.check()

    def __repr__(self) -> str:
        return repr({self.name: self.args})

    def check(self) -> None:
        """Phase P: raises InvalidCall."""

    def validate(self) -> None:
        """Phase V: raises InvalidCall. The arguments inside have been checked before."""

    def result(self, args: Any, scope: Scope) -> object:
        """Phase E: the value for evaluated arguments, all known, in the form that `check` has let through."""
        raise NotImplementedError

    def value(self, scope: Scope) -> object:
        args = self.evaluated_args(scope)
        if self.refers and not is_known(args):
            return UNKNOWN
        budget = budgets.current()
        if budget is None:              # evaluations of more than this one call have a budget of their own
            with budgets.own(Budget(self.home.limits)) as budget:
                budget.work(self.name, STEPS_OF_CALL)
                return self.result(args, scope)
        budget.work(self.name, STEPS_OF_CALL)
        return self.result(args, scope)

    def evaluated_args(self, scope: Scope) -> object:
        args = self.args
        if not isinstance(args, Node):
            return args
        if self.positional and isinstance(args, ListNode):
            return [None if (found := evaluate(item, scope)) is ABSENT else found for item in args.items]
        found = args.value(scope)
        return None if found is ABSENT else found

    def requirements(self, scope: Scope) -> Iterator[Requirement]:
        """Return the resources that this call itself needs, without those of its arguments."""
        return iter(())

    def parts(self) -> Iterator[tuple[object, object]]:
        args = self.args
        if isinstance(args, MapNode | ListNode):
            yield from args.parts()
        elif isinstance(args, Node):
            yield None, args

    def literal_list(self) -> list[object] | None:
        """Return the items, if the argument was written as a list."""
        return self.args.items if isinstance(self.args, ListNode) else self.args if type(self.args) is list else None

    def literal_map(self) -> dict[str, object] | None:
        return self.args.entries if isinstance(self.args, MapNode) else self.args if type(self.args) is dict else None


class Requirement:
    """One reference to a resource: `attribute` is (name, *path) or None for a plain reference."""

    __slots__ = ('attribute', 'resource')

    def __init__(self, resource: object, attribute: tuple[object, ...] | None = None) -> None:
        self.resource = resource
        self.attribute = attribute


STEPS_OF_CALL = 3           # of the budget
CALLS_A_TURN = 64


FunctionTable = Mapping[str, Callable[[str, object, EvaluationContext], object]]


class Parser:
    """Parses data with the functions of one version.

    `allowed`: names outside of `functions` that are known but not valid here (conditions).
    """

    def __init__(self, functions: FunctionTable, home: EvaluationContext,
                 elsewhere: frozenset[str] = frozenset()) -> None:
        self.functions = functions
        self.home = home
        self.elsewhere = elsewhere
        self.calls = 0

    def parse(self, value: Any) -> object:
        """Parse a value; return `value` itself if it has no call. Raises InvalidCall with the path below `value`."""
        kind = type(value)
        if kind is dict:
            if len(value) == 1:
                for name in value:
                    if name in self.functions:
                        return self._call(name, value[name])
                    if name in self.elsewhere:
                        misuse = InvalidCall(_('The function "%s" is invalid in this context') % name)
                        misuse.path.append(name)
                        raise misuse
            return self._entries(value)
        if kind is list:
            return self._items(value)
        return value

    def _entries(self, value: dict[str, object]) -> object:
        parsed: dict[str, object] | None = None
        turns.spend(1 + len(value) // 8)
        for key, item in value.items():
            if type(item) is dict or type(item) is list:
                try:
                    node = self.parse(item)
                except InvalidCall as misuse:
                    misuse.path.insert(0, key)
                    raise
                if node is not item:
                    if parsed is None:
                        parsed = dict(value)
                    parsed[key] = node
        return value if parsed is None else MapNode(parsed)

    def _items(self, value: list[object]) -> object:
        parsed: list[object] | None = None
        turns.spend(1 + len(value) // 8)
        for place, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                try:
                    node = self.parse(item)
                except InvalidCall as misuse:
                    misuse.path.insert(0, place)
                    raise
                if node is not item:
                    if parsed is None:
                        parsed = list(value)
                    parsed[place] = node
        return value if parsed is None else ListNode(parsed)

    def _call(self, name: str, args: object) -> object:
        function = self.functions[name]
        self.calls += 1
        if self.calls > self.home.limits.max_functions:
            raise exceeded(_('The template has more function calls'), self.home.limits.max_functions,
                           'max_template_functions')
        try:
            if getattr(function, 'raw_args', False):
                return function(name, (args, self), self.home)
            return function(name, self.parse(args), self.home)
        except InvalidCall as misuse:
            misuse.path.insert(0, name)
            raise


def evaluate(expression: object, scope: Scope) -> object:
    """Return the value of an expression; ABSENT for an absent `if`. Plain data is copied, so results share nothing."""
    if isinstance(expression, Node):
        return expression.value(scope)
    return copied(expression)


def copied(value: Any) -> object:
    """Return a copy of plain data. Copies containers only."""
    kind = type(value)
    if kind is dict or kind is list:
        budget = budgets.current()
        if budget is not None:
            budget.make_items(_('a copy of data'), len(value))
        turns.spend(1)
    if kind is dict:
        return {key: copied(item) if type(item) is dict or type(item) is list else item
                for key, item in value.items()}
    if kind is list:
        return [copied(item) if type(item) is dict or type(item) is list else item for item in value]
    return value


def resolve(expression: object, scope: Scope) -> object:
    """As `evaluate`, but null for an absent value."""
    found = evaluate(expression, scope)
    return None if found is ABSENT else found


def condition_holds(home: EvaluationContext, condition: object) -> bool:
    """Whether the condition of a resource, an output or an `if` holds: null does, and what is not known if the home
    assumes that.

    Raises InvalidCall, and unchanged the errors of a missing parameter or a circular definition.
    """
    if condition is None:
        return True
    parsed = home.parse_condition(condition)
    try:
        value = resolve(parsed, PLACEHOLDERS)
        if value is UNKNOWN:
            return home.assume_unknown
        return value is None or home.condition(value)
    except exception.HeatException:
        raise
    except Exception as error:              # functions, yaql above all, may raise anything
        raise InvalidCall(str(error)) from None


SourcePath: TypeAlias = 'tuple[SourcePath, object] | None'
"""The place of a part: (trail of its container, key or index there). Converted to a path only for messages."""


def spelled(trail: SourcePath) -> tuple[object, ...]:
    """Return the path of a trail as a tuple."""
    parts = []
    while trail is not None:
        trail, part = trail
        parts.append(part)
    return tuple(reversed(parts))


def calls(expression: object) -> list[tuple[SourcePath, Call]]:
    """All calls of an expression with their trails (each ends in the call's name), inner ones first."""
    found: list[tuple[SourcePath, Call]] = []
    if isinstance(expression, Node):
        _collect(expression, None, found)
    return found


def _collect(node: Node, trail: SourcePath, found: list[tuple[SourcePath, Call]]) -> None:
    if isinstance(node, Call):
        trail = (trail, node.name)
    for part, item in node.parts():
        if isinstance(item, Node):
            _collect(item, trail if part is None else (trail, part), found)
    if isinstance(node, Call):
        found.append((trail, node))
        if not len(found) % CALLS_A_TURN:
            turns.spend(CALLS_A_TURN)


def check(expression: object) -> Iterator[InvalidCall]:
    """Phase V: yields the errors of the calls of an expression, inner ones first, each with its path."""
    for trail, call in calls(expression):
        turns.spend(STEPS_OF_CALL)
        try:
            call.validate()
        except InvalidCall as misuse:
            misuse.path = list(spelled(trail))
            yield misuse


def requirements(expression: object, scope: Scope) -> Iterator[tuple[SourcePath, Requirement]]:
    """Yield the resources that an expression needs, each with the trail of the call, without the call's name."""
    if not isinstance(expression, Node) or not expression.refers:
        return
    for trail, call in calls(expression):
        for requirement in call.requirements(scope) if call.refers else ():
            yield trail[0] if trail is not None else None, requirement
