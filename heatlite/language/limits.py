"""How much a template may ask for. Every refusal names the limit and the option that sets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heatlite.common.template_format import exceeded, too_large

__all__ = ['Limits', 'exceeded', 'too_large']


@dataclass(frozen=True)
class Limits:
    """Bounds of one template and of evaluating it. The engine fills them from its options; -1 means no limit."""

    max_size: int = 524288              # characters of a template, option max_template_size
    max_depth: int = 3500               # nesting of maps and lists, option max_template_depth
    max_expansion: int = 1_000_000      # values (of 16 characters) with aliases expanded, option max_template_expansion
    max_functions: int = 200_000        # function calls in one template, option max_template_functions
    max_result: int = 2_097_152         # characters or items one function call may give, option max_function_result
    max_resources: int = -1             # resources of one stack, option max_resources_per_stack
    max_nested_depth: int = 5           # templates within templates, option max_nested_stack_depth
    yaql_iterators: int = 200           # elements of an iterated sequence, option [yaql] limit_iterators
    yaql_memory: int = 10000            # bytes of one YAQL evaluation, option [yaql] memory_quota
    yaql_calls: int = 50_000            # function calls of one YAQL evaluation, option [yaql] call_limit

    @classmethod
    def of(cls, options: Any) -> Limits:
        """As the service's options say."""
        return cls(max_size=options.max_template_size, max_nested_depth=options.max_nested_stack_depth,
                   max_resources=options.max_resources_per_stack, yaql_iterators=options.yaql.limit_iterators,
                   yaql_memory=options.yaql.memory_quota, yaql_calls=options.yaql.call_limit,
                   max_depth=options.max_template_depth, max_expansion=options.max_template_expansion,
                   max_functions=options.max_template_functions, max_result=options.max_function_result)
