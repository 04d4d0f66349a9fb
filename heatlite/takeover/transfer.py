"""Takes over all stacks of a Heat, or of one project, slice by slice, and reports what happened to each.

It may be interrupted and run again at any time, while that Heat serves: trees that are there already and have not
changed are passed over, older copies are replaced, and copies of stacks that are gone are removed. Stacks that heatlite
has worked on since, or has deleted, are left alone. So are those of another Heat, and after the switch all that are
there.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import take_overs
from heatlite.db.connection import Database
from heatlite.db.software_configs import Config
from heatlite.db.software_deployments import Deployment
from heatlite.engine.types.registry import TypeRegistry
from heatlite.planning.states import Status
from heatlite.takeover import ciphers, completion, convert, schema, source, store
from heatlite.takeover.convert import HeatValueReader, NotConvertible
from heatlite.takeover.rehearsal import Rehearsal
from heatlite.takeover.rows import HeatSoftwareConfig, HeatSoftwareDeployment, HeatTree
from heatlite.takeover.source import HeatDatabase
from heatlite.takeover.store import Present

LOG = logging.getLogger(__name__)

Row = TypeVar('Row', HeatSoftwareConfig, HeatSoftwareDeployment)
Made = TypeVar('Made', Config, Deployment)
Result = TypeVar('Result')

SAMPLES = 20                                # encrypted values of each kind with which the key is tried
PLAIN_AT_ONCE = 200                         # software configs or deployments in one transaction
# What becomes of a tree. Each word is a line of the report.
TAKEN, RENEWED, UNCHANGED, REMOVED, WAITING, KEPT, GONE, LATE, UNKNOWN, HIDDEN, REFUSED, ORPHANED = OUTCOMES = (
    'taken over', 'taken over again', 'unchanged', 'removed', 'in progress', 'changed in heatlite',
    'deleted in heatlite', 'changed after the switch', 'of an unknown Heat', 'hidden', 'refused', 'orphaned')
REPORTS_AWAITED = 1.25                      # report intervals in which an engine of Heat that lives reports again
LONGEST_WAIT = 600.0                        # seconds
POLL_SECONDS = 5.0                          # between two looks for such reports


@dataclass(frozen=True)
class TransferOptions:
    """What is to be taken over. `project_id` None: all projects. `hidden_tags`: stacks with one of them are left out.

    `switch`: Heat is stopped, so actions under way are taken over too, and continued. `dry`: nothing is stored.
    `again`: after the switch, too, older copies are replaced and copies of stacks that are gone are removed.
    `although_engines_live`: the switch is not refused when engines of Heat report.
    """

    project_id: str | None = None
    deleted: bool = False
    hidden_tags: tuple[str, ...] = ()
    switch: bool = False
    dry: bool = False
    again: bool = False
    although_engines_live: bool = False


@dataclass(frozen=True)
class TransferProblem:
    """A tree or row that was not taken over, or of which something is to be known."""

    project_id: str
    stack: str                              # name and id of the root, or '' for software configs and deployments
    row: str
    reason: str


@dataclass
class TransferReport:
    """Counts of trees by outcome, of stored rows by kind, and everything that did not fit."""

    trees: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    problems: list[TransferProblem] = field(default_factory=list)
    orphans: list[TransferProblem] = field(default_factory=list)    # nested stacks in no tree: no run takes them over
    unmanaged: list[TransferProblem] = field(default_factory=list)  # trees with objects that heatlite will not delete
    engines: list[str] = field(default_factory=list)        # hosts of engines of that Heat that seem to be alive


class Transfer:
    def __init__(self, heat: HeatDatabase, key: str, database: Database, runtime: Runtime, registry: TypeRegistry,
                 options: TransferOptions, progress: Callable[[TransferReport], None] = lambda report: None) -> None:
        """`key`: of that Heat. `progress(report)`: called after each slice."""
        self._heat = heat
        self._source = heat.identity
        self._switches: set[tuple[str, str]] = set()
        self._absent: frozenset[str] = frozenset()
        self._reader = HeatValueReader(key)
        self._database = database
        self._runtime = runtime
        self._registry = registry
        self._options = options
        self._store = Rehearsal() if options.dry else store
        self._progress = progress
        self.report = TransferReport()

    def run(self) -> TransferReport:
        """Take all over. Raises Error for a database that lacks what is read, for one that has none of the stacks that
        were taken over from it, and for a switch while engines of Heat live; InvalidEncryptionKey for another key;
        DatabaseUnavailable."""
        with self._heat.reader() as tx:
            self._absent = schema.check(tx)
            self._try_key(source.secrets(tx, SAMPLES))
        with self._database.reader() as ours:
            self._switches = take_overs.switches(ours)
        if not self._options.again:
            self._check_source()
        self._look_for_engines()
        self._take_plain()
        after: str | None = ''
        while after is not None:
            after = self._slice(after)
            self._progress(self.report)
        self._name_orphans()
        self._remove_gone()
        if self._options.switch and not self._options.dry:
            self._database.retry(lambda tx: take_overs.switch(
                tx, self._source, self._options.project_id, self._runtime.now()))
        return self.report

    def _check_source(self) -> None:
        """Raise Error if the database has no row of any stack that was taken over from it, not even of a deleted
        one."""
        number = 0
        for found in self._copies():
            own = [each.id for each in found if each.is_copy and each.source == self._source]
            number += len(own)
            with self._heat.reader() as tx:
                if source.still_there(tx, own):
                    return
        if number:
            raise exception.Error(_(
                'None of the %d stacks that were taken over from this database is in it, not even as a deleted one: '
                'nothing was done. Is it that of the same Heat, and complete? --again takes it over nevertheless, and '
                'removes these stacks.') % number)

    def _look_for_engines(self) -> None:
        """Store which engines of Heat seem to live. Raises Error before a switch if one does: it has reported since it
        was first seen here."""
        with self._heat.reader() as tx:
            first = source.live_engines(tx, self._runtime.now())
        self.report.engines = sorted({each.host for each in first})
        options = self._options
        if not first or not options.switch or options.dry or options.although_engines_live:
            return
        wait = min(REPORTS_AWAITED * max(each.interval for each in first), LONGEST_WAIT)
        LOG.warning('Engines of Heat have reported lately: %s. Waiting %d seconds for another report',
                    ', '.join(self.report.engines), wait)
        end = self._runtime.monotonic() + wait
        while self._runtime.monotonic() < end:
            self._runtime.sleep(POLL_SECONDS)
            with self._heat.reader() as tx:
                alive = {each.host for each in source.live_engines(tx, self._runtime.now()) if each not in first}
            if alive:
                raise exception.Error(_(
                    'Engines of Heat are running, on %s: nothing was taken over. Stop them, and make sure that no '
                    'worker process is left; two engines would work on the same stacks.') % ', '.join(sorted(alive)))
        self.report.engines = []

    def _is_switched(self, project_id: str | None, of: str | None = None) -> bool:
        """Whether --switch was stored for a Heat (None: this one) and a project. False with --again."""
        return not self._options.again and any(
            (of or self._source, each) in self._switches for each in (take_overs.ALL_PROJECTS, project_id or ''))

    def _copies(self) -> Iterator[list[store.Copy]]:
        """Yield the live roots of the wanted projects, page by page."""
        after = ''
        while True:
            with self._database.reader() as tx:
                found = store.copies(tx, self._options.project_id, after, source.ROOTS_AT_ONCE)
            if not found:
                return
            after = found[-1].id
            yield found

    def _try_key(self, samples: Sequence[tuple[str, str]]) -> None:
        for method, secret in samples:
            if method in ciphers.METHODS:   # others are named with their rows
                ciphers.decrypt(method, secret, self._reader.key)

    # --- trees ------------------------------------------------------------------------------------------

    def _slice(self, after: str) -> str | None:
        """Take over the next trees. Returns where the next slice begins, or None at the end."""
        with self._heat.reader() as tx:
            found = source.roots(tx, self._options.project_id, after, deleted=self._options.deleted)
            if not found:
                return None
            wanted = self._wanted(source.trees(tx, found, deleted=self._options.deleted))
            tags = source.tags(tx, [tree.root.id for tree in wanted]) if self._options.hidden_tags else {}
            wanted = [tree for tree in wanted if not self._is_hidden(tags.get(tree.root.id, ()))]
            for some in _portions(wanted, source.sizes(tx, wanted)):
                for tree in source.filled(tx, some, self._absent):
                    self._take(tree)
        return found[-1].id

    def _wanted(self, found: Sequence[HeatTree]) -> list[HeatTree]:
        """Those trees that are not there as they are; counts the others."""
        with self._database.reader() as tx:
            present = store.present(tx, {tree.root.id: tree.mark for tree in found})
            sources = take_overs.sources(tx, [root_id for root_id, each in present.items() if each is Present.OLD])
        return [tree for tree in found if self._is_wanted(tree, present[tree.root.id], sources.get(tree.root.id))]

    def _is_wanted(self, tree: HeatTree, present: Present, recorded: str | None) -> bool:
        """Whether to take it over; counts it if not. `recorded`: from which Heat the older copy was taken over."""
        if tree.is_too_deep:
            self._refuse(tree, REFUSED, f'stack {tree.root.id}', _(
                'it has nested stacks on more than %d levels') % source.DEEPEST)
        elif present is Present.EQUAL:
            self.report.trees[UNCHANGED] += 1
        elif present is Present.GONE:
            self._refuse(tree, GONE, f'stack {tree.root.id}', _('heatlite has deleted it since it was taken over'))
        elif present is Present.CHANGED:
            self._refuse(tree, KEPT, f'stack {tree.root.id}', _('heatlite has worked on it since it was taken over'))
        elif present is Present.OLD and self._is_switched(tree.root.tenant, recorded):
            self._refuse(tree, LATE, f'stack {tree.root.id}', _(
                'that Heat has changed it after the switch; --again replaces the copy that heatlite has'))
        elif not self._options.switch and any(
                stack.status == Status.IN_PROGRESS and stack.deleted_at is None for stack in tree.stacks):
            self.report.trees[WAITING] += 1
        else:
            return True
        return False

    def _is_hidden(self, tags: Sequence[str]) -> bool:
        if not set(tags) & set(self._options.hidden_tags):
            return False
        self.report.trees[HIDDEN] += 1
        return True

    def _take(self, tree: HeatTree) -> None:
        now = self._runtime.now()
        try:
            whole = completion.complete(convert.convert(tree, self._reader, self._runtime.uuid, now), self._runtime,
                                        self._registry)
            present = self._stored(lambda tx: self._store.put(tx, whole, self._source, now))
        except NotConvertible as error:
            self._refuse(tree, REFUSED, error.row, error.reason)
            return
        except exception.DatabaseUnavailable:
            raise
        except exception.ProjectMoves:
            self._refuse(tree, REFUSED, f'stack {tree.root.id}', store.elsewhere())
            return
        except exception.StackExists:
            self._refuse(tree, REFUSED, f'stack {tree.root.id}', _('another stack of the project has its name'))
            return
        except Exception as error:          # one tree of an unforeseen kind does not stop ten thousand others
            LOG.debug('Stack %s was not taken over', tree.root.id, exc_info=True)
            self._refuse(tree, REFUSED, f'stack {tree.root.id}', _reason(error))
            return
        self.report.unmanaged += [TransferProblem(
            tree.root.tenant or '', f'{tree.root.name} {tree.root.id}', kind,
            _('%d objects of a type that heatlite does not manage') % number)
            for kind, number in sorted(whole.unmanaged.items())]
        self.report.trees[{Present.OLD: RENEWED, Present.NOTHING: TAKEN}.get(present, UNCHANGED)] += 1
        self.report.stored.update({
            'stacks': len(whole.stacks), 'resources': sum(len(each.members) for each in whole.stacks),
            'events': sum(len(each.events) for each in whole.stacks),
            'snapshots': sum(len(each.snapshots) for each in whole.stacks)})

    def _refuse(self, tree: HeatTree, outcome: str, row: str, reason: str) -> None:
        self.report.trees[outcome] += 1
        self.report.problems.append(TransferProblem(
            tree.root.tenant or '', f'{tree.root.name} {tree.root.id}', row, reason))

    def _name_orphans(self) -> None:
        """Leave out nested stacks that are in no tree, with what is nested in them."""
        after: str | None = ''
        while after is not None:
            with self._heat.reader() as tx:
                found = source.orphans(tx, self._options.project_id, after, deleted=self._options.deleted)
            for each in found:
                self.report.trees[ORPHANED] += 1
                self.report.orphans.append(TransferProblem(
                    each.tenant or '', f'{each.name} {each.id}', f'stack {each.id}',
                    _('the stack that it is nested in is gone')))
            after = found[-1].id if found else None

    def _remove_gone(self) -> None:
        """Remove copies of trees that this Heat has deleted since they were taken over from it, until the switch."""
        for found in self._copies():
            copied = [each for each in found if each.is_copy and each.source in (self._source, None)]
            with self._heat.reader() as tx:
                there = source.still_there(tx, [each.id for each in copied])
            for each in copied:
                if there.get(each.id):
                    continue
                if each.source is None:     # taken over by a release that did not store it
                    self.report.trees[UNKNOWN] += 1
                elif not self._is_switched(each.project_id) and self._stored(
                        lambda tx, gone=each.id: self._store.remove(tx, gone)):         # type: ignore[misc]
                    self.report.trees[REMOVED] += 1

    def _stored(self, put: Callable[[sa.Connection], Result]) -> Result:
        """`put(tx)` in a transaction; in a dry run one that only reads."""
        if self._options.dry:
            with self._database.reader() as tx:
                return put(tx)
        return self._database.retry(put)

    # --- software configs and deployments ---------------------------------------------------------------

    def _take_plain(self) -> None:
        self._take_all('software configs', source.configs, convert.config, self._store.put_configs)
        self._take_all('software deployments', source.deployments, convert.deployment, self._store.put_deployments)

    def _take_all(self, kind: str, page: Callable[[sa.Connection, str | None, str, int], list[Row]],
                  converted: Callable[[Row, HeatValueReader], Made],
                  put: Callable[[sa.Connection, Sequence[Made]], tuple[int, list[NotConvertible]]]) -> None:
        """Take over all rows of one kind, a page in each transaction."""
        after = ''
        while True:
            with self._heat.reader() as tx:
                found = page(tx, self._options.project_id, after, PLAIN_AT_ONCE)
            if not found:
                return
            after = found[-1].id
            made: list[Made] = []
            for row in found:
                if self._is_switched(row.tenant):
                    continue
                try:
                    made.append(converted(row, self._reader))
                except NotConvertible as error:
                    self._note(error)
            self._put(kind, made, put)

    def _put(self, kind: str, made: Sequence[Made],
             put: Callable[[sa.Connection, Sequence[Made]], tuple[int, list[NotConvertible]]]) -> None:
        try:
            stored, refused = self._stored(lambda tx: put(tx, made))
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:          # one row of an unforeseen kind does not stop the others
            if len(made) > 1:
                for row in made:
                    self._put(kind, [row], put)
                return
            LOG.debug('%s: row %s was not taken over', kind, made[0].id, exc_info=True)
            place = f'{kind.replace(" ", "_").removesuffix("s")} {made[0].id}'
            stored, refused = 0, [NotConvertible(place, _reason(error))]
        self.report.stored[kind] += stored
        for each in refused:
            self._note(each)

    def _note(self, refused: NotConvertible) -> None:
        self.report.problems.append(TransferProblem('', '', refused.row, refused.reason))


def _reason(error: Exception) -> str:
    """One line. Errors of a database quote the statement with all its values, so only the driver's text is used."""
    inner = getattr(error, 'inner_exception', None) or error
    original = getattr(inner, 'orig', None) or inner
    text = original.args[-1] if original is not error and original.args else error
    return f'{type(error).__name__}: {(str(text).splitlines() or [""])[0]}'


def _portions(found: Sequence[HeatTree], sizes: dict[str, int]) -> Iterator[list[HeatTree]]:
    """Yield the trees in portions of at most ROWS_AT_ONCE rows, or one tree."""
    portion: list[HeatTree] = []
    total = 0
    for tree in found:
        if portion and total + sizes[tree.root.id] > source.ROWS_AT_ONCE:
            yield portion
            portion, total = [], 0
        portion.append(tree)
        total += sizes[tree.root.id]
    if portion:
        yield portion

