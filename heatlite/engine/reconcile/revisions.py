"""Records the definitions that are accepted for root stacks, in the transaction that accepts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection

from heatlite.common import crypt
from heatlite.common.context import RequestContext
from heatlite.db import codec, revisions
from heatlite.db.codec import Encoded
from heatlite.db.stacks import StoredStack
from heatlite.db.templates import StoredTemplate
from heatlite.language import masking
from heatlite.language.definition import StackDefinition
from heatlite.language.template import Template
from heatlite.planning.revisions import DEFINING, followed
from heatlite.planning.states import Revision, Status


@dataclass(frozen=True)
class Content:
    """What a definition consists of, as it is stored. Make it before the transaction: large templates take a while."""

    document: Encoded
    environment: Mapping[str, object]
    files: Mapping[str, str]

    @classmethod
    def of(cls, definition: StackDefinition) -> Self:
        return cls(Encoded(encoded(definition.template)), definition.environment.document(), definition.files)

    @classmethod
    def of_template(cls, stored: StoredTemplate) -> Self:
        return cls(Encoded(codec.encode(stored.document)), stored.environment, stored.files)

    def digest(self, stack_id: str, key: str) -> str:
        """Return a digest of the content. It depends on the stack and on the key, so that hidden values cannot be found
        by trying."""
        return crypt.digest((stack_id, self.document.text, codec.encode(_canonical(self.environment)),
                             *(text for item in sorted(self.files.items()) for text in item)), key)


def encoded(template: Template) -> str:
    """Return the document of a template as it is stored."""
    return codec.encode(template.document) if template.encoded is None else template.encoded


class RevisionRecorder:
    """Keeps the revisions of root stacks: in threads of requests, and of runners that roll back or end an action."""

    def __init__(self, keep: int, key: str | None) -> None:
        """`keep`: the most revisions of a stack, 0: none are recorded; `key`: the key of the digests."""
        self._keep = keep
        self.key = key or ''

    def is_present(self, tx: Connection, row: StoredStack, content: Content) -> bool:
        """Whether the stack `row` has this content already, so that there is no new revision. One statement."""
        if row.revision is None or not self._keep:
            return False
        return revisions.digest(tx, row.id, row.revision) == content.digest(row.id, self.key)

    def record(self, tx: Connection, before: StoredStack | None, accepted: StoredStack, content: Content,
               author: RequestContext | None, plan_id: str | None = None) -> None:
        """Store the revision of the definition that the row `accepted` brings in, unless it kept its revision.
        `before`: the row until now; None: a new stack."""
        if before is not None and accepted.revision == before.revision:
            return
        for each in self.of(before, accepted, content, author, plan_id):
            revisions.insert(tx, each)
        # What a stack no longer needs is deleted when its action ends; until then there may be any number of requests.
        if before is not None and before.status == Status.IN_PROGRESS:
            self.remove_old(tx, accepted)

    def of(self, before: StoredStack | None, accepted: StoredStack, content: Content, author: RequestContext | None,
           plan_id: str | None = None) -> tuple[Revision, ...]:
        """Return the revisions to be stored: one, and before it the present definition of a stack without any.

        Empty for a nested stack.
        """
        if accepted.revision is None or not self._keep:
            return ()
        new = Revision(
            accepted.id, accepted.revision, accepted.action,
            None if before is None else followed(before, accepted.action),
            author.user_id if author is not None else None, author.username if author is not None else None, plan_id,
            accepted.template_id, content.digest(accepted.id, self.key), accepted.parameters,
            accepted.updated_at or accepted.created_at)
        return (new,) if before is None or before.revision is not None else (_present(before), new)

    def remove_old(self, tx: Connection, row: StoredStack) -> None:
        """Remove revisions of a stack until `keep` are left. No statement if there are not more."""
        if row.revision is not None and row.revision > self._keep:
            revisions.remove_until(tx, row.id, row.revision - self._keep)


def _canonical(environment: Mapping[str, object]) -> dict[str, object]:
    """Return the sections that say something, and their entries, by name; without texts that were hidden formerly."""
    return {name: dict(sorted(section.items(), key=lambda entry: str(entry[0]))) if isinstance(section, Mapping) else
            section for name, section in sorted(environment.items()) if section and name != masking.VALUES}


def _present(row: StoredStack) -> Revision:
    """Return the present definition of a stack that got it before revisions were recorded."""
    return Revision(row.id, 1, row.action if row.action in DEFINING else None, None, None, None, None, row.template_id,
                    None, row.parameters, row.updated_at or row.created_at)
