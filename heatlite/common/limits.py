"""All limits of the service in one place: what is counted, its unit, and the option that sets it.

Values only: the code that does the work enforces them. An error names the limit and its option (`exceeded`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from heatlite.common import exception
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config import cfg


UNLIMITED: Final = -1                   # of an option of this service, or a quota of another one: no limit


class Bounds(Protocol):
    """The limits of one document."""

    @property
    def max_size(self) -> int: ...

    @property
    def max_depth(self) -> int: ...

    @property
    def max_expansion(self) -> int: ...


@dataclass(frozen=True)
class Limits:
    """Limits of one template and of its evaluation. The engine sets them from its options."""

    max_size: int = 524288              # characters of a template, option max_template_size
    max_depth: int = 3500               # nesting of maps and lists, option max_template_depth
    max_expansion: int = 1_000_000      # values (of 16 characters) with aliases expanded, option max_template_expansion
    max_functions: int = 200_000        # function calls in one template, option max_template_functions
    max_result: int = 2_097_152         # characters or items one function call may give, option max_function_result
    max_resources: int = UNLIMITED      # resources of one stack, option max_resources_per_stack
    max_members: int = 100_000          # resources of one nested stack, option max_members_per_group
    max_nested_depth: int = 5           # templates within templates, option max_nested_stack_depth
    yaql_iterators: int = 200           # elements of an iterated sequence, option [yaql] limit_iterators
    yaql_memory: int = 10000            # bytes of one YAQL evaluation, option [yaql] memory_quota
    yaql_calls: int = 50_000            # function calls of one YAQL evaluation, option [yaql] call_limit
    # Limits of one evaluation: the properties of a resource, all outputs, a check. The size is in characters (four for
    # one beyond ASCII), an item counts 16; a step is about a microsecond.
    max_evaluation_result: int = 8_388_608      # size of all results of its functions, option of that name
    max_result_per_resource: int = 65_536       # what each resource adds to that of a definition, option of that name
    max_evaluation_steps: int = 2_000_000       # option of that name
    max_steps_per_resource: int = 10_000        # what each resource adds to those of a definition
    max_matching_time: int = 1000               # milliseconds of slow patterns, option of that name
    later: Limits | None = None         # of templates that come after this one was accepted; None: the same

    @property
    def of_later(self) -> Limits:
        """The limits of templates that are first read, or made, while the stack is driven."""
        return self.later or self

    @property
    def of_accepted(self) -> Limits:
        """The limits for reading a stored definition: its sizes and counts are not checked again, since the options may
        have become lower. Its `of_later` gives these limits."""
        return replace(self, max_size=_ANY, max_depth=_ANY, max_expansion=_ANY, max_functions=_ANY, max_result=_ANY,
                       max_resources=UNLIMITED, later=self)

    @classmethod
    def of(cls, options: cfg.ConfigOpts) -> Limits:
        """Read the limits from the service's options."""
        return cls(max_size=options.max_template_size, max_nested_depth=options.max_nested_stack_depth,
                   max_resources=options.max_resources_per_stack, max_members=options.max_members_per_group,
                   yaql_iterators=options.yaql.limit_iterators, yaql_memory=options.yaql.memory_quota,
                   yaql_calls=options.yaql.call_limit,
                   max_depth=options.max_template_depth, max_expansion=options.max_template_expansion,
                   max_functions=options.max_template_functions, max_result=options.max_function_result,
                   max_evaluation_result=options.max_evaluation_result,
                   max_result_per_resource=options.max_result_per_resource,
                   max_evaluation_steps=options.max_evaluation_steps, max_matching_time=options.max_matching_time)


MOST_STRIKES: Final = 3                 # consecutive engines that may end executing a stack without progress
MOST_ENDED_ENGINES: Final = 20          # engines that may end executing one request of a stack, in total

MOST_ANSWERED: Final = 1_048_576        # values (of 16 characters) in an engine's answer, shared ones counted each time
MOST_EXPORTED: Final = 16_777_216       # characters of the export of a stack and its nested stacks, also in a snapshot

MOST_VALUES: Final = 1_000              # values that a custom constraint accepts, in one answer
MOST_REFACTORED: Final = 20             # stacks of one refactor
MOST_MOVES: Final = 1_000               # resources that one refactor moves

MOST_FILES: Final = 10_000              # files of one stack, or of one stack set
MOST_TEXT_OF_FILES: Final = 33_554_432  # characters of all files of one stack, if a PATCH adds some to the stored ones
MOST_ENVIRONMENT_FILES: Final = 200     # names in `environment_files` of one request, repeated ones counted each time

MOST_EVENT_SINKS: Final = 10            # event sinks of one stack
MOST_MIME_PARTS: Final = 100            # parts of one MIME message, also of a user's message inside it
MOST_MIME_HEADER: Final = 1_024         # characters of one header of a user's MIME message

MOST_SET_MEMBERS: Final = 200           # members of one stack set; that of the type in catalogue/heat.yaml is the same
MOST_SET_TEXT: Final = 16_777_216       # characters that one stack set gives to all its members, templates included
MOST_SET_EVENTS: Final = 5_000          # events of members that are read for one operation of a stack set

MOST_WRITTEN: Final = 65_536            # values (of 16 characters) in one YAML text that is written for a service
MOST_METADATA: Final = 2_097_152        # characters of the metadata of one resource, written as JSON
MOST_SIGNALS: Final = 8_388_608         # characters of the pending signals of one stack
SIGNAL: Final = 4_096                   # characters added for each of them

# Characters of the texts of users and services in columns that lists and loads read of many rows at once, by the name
# of the column. Longer texts are stored shortened (`db.codec.stored_text`): an error, which has at most
# `exception.LONGEST_TEXT`, stays whole with the words before it.
STORED_TEXT: Final[Mapping[str, int]] = {
    'reason': 12_000,                   # of stacks, resources, events, snapshots and alarms
    'status_reason': 12_000,            # of software deployments
    'summary': 12_000,                  # of entries in the history of alarms
    'description': 10_000,              # of stacks; their templates have it whole
}
MOST_PAGE: Final = 4_194_304            # characters of a page, or that a list reads at once, unless one entry has more
STACKS_DESCRIBED: Final = 100           # stacks of one page with their outputs, which engines may read
ROWS_LISTED: Final = 1_000              # stacks without outputs, or events, of one page
MOST_TAGS: Final = 200                  # tags of one stack
MOST_REQUESTS: Final = 5_000            # requests of alarms of one project that wait to be sent
MOST_HISTORY: Final = 1_000             # entries in the history of one alarm that remain after a request for it

MOST_PROTECTIONS: Final = 100           # protections of one tree of stacks
PROTECTION_PATH: Final = 1_024          # characters of the path of a protection

_ANY: Final = 1 << 62
USUAL: Final = Limits()                 # when no options are available

# --- HTTP requests to all APIs ---------------------------------------------------------------------------

BODY_BYTES: Final = 1_048_576           # of a body where option max_json_body_size is not at hand
QUERY_FIELDS: Final = 1_000             # `name=value` in one query string
FORM_FIELDS: Final = 10_000             # `name=value` in one form of the CloudFormation API
METRIC_FORM_FIELDS: Final = 32_768      # in one of the CloudWatch API: a thousand datapoints with ten dimensions each

# --- what users write ---------------------------------------------------------------------------------------

MOST_PATTERN: Final = 5000              # characters of a regular expression
# Of an integer: the interpreter converts no longer ones to text, so no answer and no database could hold them.
MOST_DIGITS: Final = 4300
_TOO_LONG: Final = 10 ** MOST_DIGITS


def is_too_long(number: int) -> bool:
    """Whether an integer has more than `MOST_DIGITS` digits."""
    return not -_TOO_LONG < number < _TOO_LONG


def has_room(most: int, count: Callable[[], int], added: int = 1) -> bool:
    """Whether there may be `added` more things beside the `count()` of now, at `most` so many, or UNLIMITED: then
    nothing is counted."""
    return most == UNLIMITED or count() + added <= most


def exceeded(what: str, limit: int | float, option: str) -> exception.RequestLimitExceeded:
    """Return the error for a limit. `what`: a clause with the thing counted, such as `The template nests deeper`."""
    return exception.RequestLimitExceeded(
        _('%(what)s than %(limit)s allows (option %(option)s).') % {'what': what, 'limit': limit, 'option': option})


def too_large(size: int, limit: int) -> exception.RequestLimitExceeded:
    """Return the error for a template that is too long. Clients parse this text; it says bytes, but characters are
    counted."""
    return exception.RequestLimitExceeded(
        _('Template size (%(size)d bytes) exceeds maximum allowed size (%(limit)d bytes).')
        % {'size': size, 'limit': limit})
RATE: Final = 65_536                    # bytes a second that a peer must send or receive, after its first seconds


@dataclass(frozen=True)
class Connections:
    """Limits of peers of the built-in server; options of [heat_api] and its like. Seconds; None: no limit."""

    connections: int = 1024                 # option max_connections
    connections_per_peer: int = 256         # of one address, option max_connections_per_peer
    trusted_peers: tuple[str, ...] = ()     # networks without a limit of their own: proxies, option trusted_proxies
    header_seconds: float | None = 10       # from the first byte, TLS included, option header_timeout
    body_seconds: float | None = 30         # for a body, and for reading an answer, option body_timeout
    idle_seconds: float | None = 75         # between two requests, option client_socket_timeout
    header_line: int = 16_384               # bytes, option max_header_line
    body_bytes: int = BODY_BYTES            # a longer body ends the connection; option max_json_body_size

    @classmethod
    def of(cls, options: cfg.ConfigOpts.GroupAttr, body_bytes: int) -> Connections:
        """Read the limits from the options of one group; 0 seconds mean no limit."""
        return cls(options.max_connections, options.max_connections_per_peer, tuple(options.trusted_proxies),
                   options.header_timeout or None, options.body_timeout or None,
                   options.client_socket_timeout or None, options.max_header_line, body_bytes)


USUAL_PEERS: Final = Connections()
