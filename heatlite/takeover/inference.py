"""Finds out from applied properties which values references and attributes had when Heat applied them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

REFERENCES = ('get_resource', 'Ref')
ATTRIBUTES = ('get_attr', 'Fn::GetAtt')

Found = tuple[str, tuple[object, ...] | None, object]
"""(resource, attribute with its path or None for the reference, value)"""


def values(written: object, applied: object) -> Iterator[Found]:
    """Yield the values of those references and attributes that are a whole property, or a whole item of a map or list.

    `written`: a part of a template; `applied`: the same part with all functions resolved. What stands within other
    functions is unknown. A `Ref` may name a parameter: the caller knows the resources.
    """
    if isinstance(written, Mapping):
        if len(written) == 1:
            (function, argument), = written.items()
            if function in REFERENCES and isinstance(argument, str):
                yield argument, None, applied
                return
            if function in ATTRIBUTES:
                place = argument.split('.', 1) if isinstance(argument, str) else argument
                if isinstance(place, list) and len(place) > 1 and all(isinstance(part, str | int) for part in place):
                    yield str(place[0]), tuple(place[1:]), applied
                return
        if isinstance(applied, Mapping):
            for key, part in written.items():
                if key in applied:
                    yield from values(part, applied[key])
    elif isinstance(written, list) and isinstance(applied, list) and len(written) == len(applied):
        for part, value in zip(written, applied, strict=True):
            yield from values(part, value)
