"""What handlers return, beside objects that are rendered as JSON: heatlite.api.rendering makes responses of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Created:
    """The body and the URL of the new object."""

    location: str
    body: object


@dataclass(frozen=True)
class TaggedAnswer:
    """What is answered, and the tag for the header `ETag`; None: not known."""

    answer: object
    tag: str | None


@dataclass(frozen=True)
class Redirect:
    """302 to `location`."""

    location: str


@dataclass(frozen=True)
class StreamedList:
    """`{key: [...], **rest}`. A long list is sent in pieces, and other requests run in between.

    `items`: objects, or their JSON as json_text.JsonText; they may be made while they are sent, where an error cuts the
    answer off. `count`: about their number. `is_large`: their texts are long, so that few are sent in pieces, too.
    """

    key: str
    items: Iterable[object]
    count: int
    rest: Mapping[str, object] = field(default_factory=dict)
    is_large: bool = False
