"""The parts that the use cases of stacks share: each of them checks, previews and accepts requests."""

from __future__ import annotations

from dataclasses import dataclass

from heatlite.common.limits import Limits
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.former_owners import FormerOwners
from heatlite.engine.reconcile.revisions import RevisionRecorder
from heatlite.engine.requests.acceptance import Acceptance
from heatlite.engine.requests.checked_definitions import CheckedDefinitions
from heatlite.engine.requests.ownership import Owners
from heatlite.engine.requests.previews import Previews
from heatlite.engine.requests.quotas import QuotaChecks
from heatlite.engine.requests.stored_stacks import StoredStacks
from heatlite.engine.requests.unchanged import UnchangedUpdates


@dataclass(frozen=True)
class RequestParts:
    """There is one for each engine."""

    core: EngineCore
    acceptance: Acceptance
    stored_stacks: StoredStacks
    owners: Owners
    authority: Authority
    former_owners: FormerOwners
    recorder: RevisionRecorder
    limits: Limits
    quotas: QuotaChecks
    checked_definitions: CheckedDefinitions
    previews: Previews
    unchanged: UnchangedUpdates
