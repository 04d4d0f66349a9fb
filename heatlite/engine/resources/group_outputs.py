"""The outputs of the nested stack of a group: one for each attribute of its members that is read through the group.

The checks of a request and the group itself build them by the same function, so that a request is refused exactly where
the nested stack would be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

RESOURCE = 'resource.'
SHOW = 'show'

Asked = tuple[object, ...]                  # an attribute of a group and its path, as templates ask for it


@dataclass(frozen=True)
class MemberAttributes:
    """The attributes of a group that read the members.

    `mapped` give {member: value} and `listed` a list of what the path names. `lists_others`: a name that the group does
    not have is an attribute of the members, and gives a list. `by_age`: `resource.<n>` is the n-th oldest member, not
    the one of that name, and members that failed are left out when an output is read, so that each has its name in the
    nested stack. `plurals`: all attributes give a map, these of members' attributes with another name; a path
    leads into the map, so that its first part is a member.
    """

    mapped: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    lists_others: bool = False
    by_age: bool = False
    plurals: Mapping[str, str] | None = None

    def is_mapped(self, key: str) -> bool:
        return self.plurals is not None or key in self.mapped

    def path(self, key: str, path: Sequence[object], own: Collection[str]) -> list[object]:
        """Return the members' attribute, with its path, that an attribute of the group stands for; [] for its own.
        `own`: the names of the group's attributes."""
        if self.plurals is not None:
            return [] if key == SHOW else [self.plurals.get(key, key)]
        if key in self.mapped or key in self.listed:
            return list(path)
        if self.lists_others and key not in own and key != SHOW:
            return [key, *path]
        return []

    def output(self, key: str, path: Sequence[object]) -> tuple[str, Sequence[object]]:
        """Return the name of the output that an attribute is read from, and the path into the value of the output."""
        return (key, path) if self.plurals is not None else (output_name((key, *path)), ())

    def outputs(self, asked: Iterable[Asked], names: Sequence[str], own: Collection[str],
                member_of: Callable[[str], str | None]) -> Iterator[tuple[str, object]]:
        """Yield the outputs, (name, expression), for what is asked of a group with the members `names`.

        `member_of`: the member that `resource.<name>` means, None for none.
        """
        for each in sorted(asked, key=str):
            if not each or not isinstance(each[0], str) or not all(isinstance(part, str | int) for part in each):
                continue                    # no attribute has such a name: reading it is an error
            key, path = str(each[0]), each[1:]
            if key.startswith(RESOURCE):
                _word, name, *rest = key.split('.', 2)
                member = None if self.by_age else member_of(name)
                if member is not None and (rest or path):
                    yield output_name(each), {'get_attr': [member, *rest, *path]}
                continue
            member_path = self.path(key, path, own)
            if not member_path:
                continue
            output, _path = self.output(key, path)
            if self.is_mapped(key) or self.by_age:
                yield output, {name: {'get_attr': [name, *member_path]} for name in names}
            else:
                yield output, [{'get_attr': [name, *member_path]} for name in names]


def output_name(asked: Iterable[object]) -> str:
    """Return the name of the output that an attribute of a group is read from."""
    return ', '.join(str(part) for part in asked)


INDEXED = MemberAttributes(mapped=('attributes',), lists_others=True)
SCALED = MemberAttributes(mapped=('outputs',), listed=('outputs_list',), by_age=True)
