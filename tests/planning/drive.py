"""Drives a traversal without an engine: answers each command as a cloud in a given mood would."""

from __future__ import annotations

import dataclasses
import functools
import random
from datetime import datetime, timedelta

from heatlite.planning import commands as c
from heatlite.planning.decide import Verdict
from heatlite.planning.states import Action, Status
from heatlite.planning.steps import Desired
from heatlite.planning.target import Target
from heatlite.planning.traversal import Traversal

START = datetime(2026, 1, 1)


def uuid_of(template, *row):
    return '-'.join(map(str, (template, *row)))


class Driver:
    """`fails(name, action)`: the call fails; `verdicts`: name -> Verdict for rows that exist already; `retry`: failures
    are of a kind that another try may help; `replaces`: an update that fails asks for a replacement; `recovers`: what
    is found out of a call that was interrupted."""

    def __init__(self, seed=0, fails=lambda name, action: False, verdicts=None, slow=(), retry=False, preempts=None,
                 replaces=False, recovers=c.Outcome.RETRY):
        self.seed, self.random = seed, random.Random(seed)
        self.retry, self.replaces, self.recovers = retry, replaces, recovers
        self.away = []                  # why the next calls are not answered
        self.follows = False            # what depends on a replaced resource changes, too
        self.preempts = preempts        # True: work lasts until the engine ends it; False: until it is preempted
        self.preempted = []             # names of those that were preempted
        self.pauses = []                # seconds until another try
        self.fails, self.verdicts, self.slow = fails, verdicts or {}, set(slow)
        self.inputs = []                # (method of the traversal, arguments, options) of all that it was told
        self.commands = []              # all that it returned
        self.log = []                   # (name, action, status) of every event of a resource
        self.calls = []                 # (action, name, row)
        self.stored = {}                # rows on disk
        self.physical = {}              # row -> physical id that exists
        self.finish = None
        self.unwound = []
        self.inbox = []
        self.deleting = {}              # step -> row that its call under way deletes
        self.refers = {}                # row -> rows that its object may refer to
        self.torn = []                  # (row, row deleted while the first one may refer to it)
        self.now = START
        self.why = 'Boom: resources.{}: no'.format

    def traversal(self, action, wanted, rows=(), template='t1', **options):
        self.stored.update({row.id: row for row in rows})
        self.arguments = action, wanted, rows, template, {'next_row': 1, 'retry_limit': 5, **options}
        self.traverse = self.new()
        self.tell('start', self.now)
        return self

    def new(self):
        """Return a traversal of the first target to which nothing was told."""
        action, wanted, rows, template, options = self.arguments
        target, options = self.target(action, wanted, template, options)
        return Traversal(target, rows, random=random.Random(self.seed).random, **options)

    def target(self, action, wanted, template, options):
        """Return a target, and those of the options that are not its own."""
        own = {field.name for field in dataclasses.fields(Target)}
        desired = {name: Desired('T', frozenset(needs)) for name, needs in wanted.items()}
        return (Target(action, desired, template, functools.partial(uuid_of, template),
                       **{name: value for name, value in options.items() if name in own}),
                {name: value for name, value in options.items() if name not in own})

    def tell(self, method, *arguments, **options):
        self.inputs.append((method, arguments, options))
        self.perform(getattr(self.traverse, method)(*arguments, **options) or ())

    def crash(self, action, wanted, template, **options):
        """Another engine continues from what is stored."""
        self.inbox.clear()
        self.deleting.clear()
        return self.traversal(action, wanted, list(self.stored.values()), template, **options)

    def conclude(self, action, wanted, template, **options):
        """Another engine takes over the stack, whose action has ended."""
        self.inbox.clear()
        self.deleting.clear()
        self.arguments = action, wanted, list(self.stored.values()), template, {'retry_limit': 5, **options}
        self.traverse = self.new()
        self.tell('conclude')
        return self

    def retarget(self, action, wanted, template, **options):
        target, options = self.target(action, wanted, template, options)
        self.tell('retarget', target, self.now, **options)

    def run(self, steps=100_000):
        while self.inbox and steps:
            steps -= 1
            event = self.inbox.pop(self.random.randrange(len(self.inbox)))
            if isinstance(event, c.HandlerReturned) and event.step in self.deleting:
                self.physical.pop(self.deleting.pop(event.step), None)
            self.now += timedelta(seconds=1)
            self.tell('handle', event, self.now)
        return self

    def perform(self, commands):
        for command in commands:
            self.commands.append(command)
            match command:
                case c.Persist(step, row, event, wait, applied):
                    self.stored[row.id] = row
                    if command.begun is not None:
                        self.log.append((row.name, str(command.begun.action), str(command.begun.status)))
                    if applied and row.id in self.refers:
                        self.refers[row.id] = set(row.requires.values())
                    if event:
                        self.log.append((row.name, str(row.action), str(row.status)))
                    if wait:
                        self.inbox.append(c.Persisted(step))
                case c.Remove(step, row, event):
                    del self.stored[row.id]
                    if event:
                        self.log.append((row.name, str(row.action), str(row.status)))
                case c.Note(_step, row):
                    self.log.append((row.name, str(row.action), str(row.status)))
                case c.Inspect(step, row):
                    verdict = self.verdicts.get(row.name, Verdict(changed=False))
                    if self.follows and self.traverse.requirements(row.name) != row.requires:
                        verdict = dataclasses.replace(verdict, changed=True)
                    if row.failed:      # what a type says by default of a row that failed
                        verdict = Verdict(changed=True, replace='it failed')
                    self.inbox.append(c.Inspected(step, verdict))
                case c.CallHandler(step, row, action):
                    self.calls.append((str(action), row.name, row.id))
                    if action is Action.DELETE:
                        self.deleting[step] = row.id
                        self.torn += [(other, row.id) for other, needed in self.refers.items()
                                      if row.id in needed and other != row.id and other in self.physical]
                    elif action in (Action.CREATE, Action.UPDATE) and row.name in self.traverse.desired:
                        needed = self.traverse.requirements(row.name).values()
                        self.refers.setdefault(row.id, set()).update(needed)    # until it ends, to the old ones, too
                    if self.away:
                        self.inbox.append(c.Away(step, self.away.pop(), 5.0))
                    elif self.fails(row.name, action):
                        asks = self.replaces and action is Action.UPDATE
                        why = f'{row.name} is to be replaced' if asks else self.why(row.name)
                        self.inbox.append(c.Failed(step, why, retry=self.retry, replace=asks))
                    else:
                        if action in (Action.CREATE, Action.ADOPT):
                            self.physical[row.id] = f'p{row.id}'
                            current = self.traverse.rows[row.id]._replace(physical_id=f'p{row.id}')
                            self.tell('record', current)
                        self.inbox.append(c.HandlerReturned(step, {'n': 1}, done=row.name not in self.slow))
                case c.Poll(step, row, action, _handle, poll_intervals):
                    if self.preempts is None or row.name not in self.slow:
                        self.inbox.append(c.CheckReturned(step, poll_intervals > 1, poll_intervals + 1))
                case c.Abort(step, row, why):
                    self.inbox = [e for e in self.inbox if getattr(e, 'step', None) != step]
                    self.inbox.append(c.Failed(step, f'{row.action} aborted ({why})'))
                case c.Preempt(step, row):
                    self.preempted.append(row.name)
                    self.inbox.append(c.Preempted(step, bool(self.preempts)))
                    if self.preempts is False:
                        self.inbox.append(c.CheckReturned(step, True))
                case c.Recover(step, row):
                    self.inbox.append(c.Recovered(step, self.recovers))
                case c.StartTimer(step, row, seconds):
                    self.pauses.append(seconds)
                    self.inbox.append(c.TimerFired(step))
                case c.ReportFailure(reason, rollback):
                    self.unwound.append((reason, rollback))
                case c.Finish(status, reason):
                    self.finish = (status, reason)
                case c.Leave():
                    self.finish = 'reported before'

    @property
    def rows(self):
        return list(self.traverse.rows.values())

    def state(self):
        return {row.name: row.state for row in self.rows}

    def actions(self, action):
        return [name for called, name, _ in self.calls if called == action]


__all__ = ['START', 'Action', 'Desired', 'Driver', 'Status', 'Verdict']
