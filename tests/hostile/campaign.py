"""Runs cases against a target and judges what was measured. The budgets are those of the service's design."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.hostile.cases import Case
from tests.hostile.meters import Memory, Neighbour, Processor, Seen, percentile
from tests.hostile.neighbour import TEMPLATE
from tests.hostile.peers import Peer
from tests.hostile.profiles import Target
from tests.hostile.stages import Attempt, attempts
from tests.hostile.tenants import Answer

MEMORY = 200.0          # MiB above idle, in any process
LONGEST = 10.0          # seconds until the hostile tenant is answered
NEIGHBOUR = 0.25        # seconds, 99th percentile of another tenant's requests meanwhile
SETTLES = 0.3           # seconds after an answer in which its cost may still show
EVALUATED = ('preview', 'create', 'update preview', 'update')    # stages at which the template's values are known
STAGES = frozenset({'validate', 'preview', 'create', 'update'})


@dataclass(frozen=True)
class Row:
    """What one stage of one case cost. `growth`: MiB; times in seconds."""

    case: str
    stage: str
    status: int
    state: str | None
    seconds: float
    growth: float
    neighbour_p99: float
    neighbour_worst: float
    diagnostics: tuple[str, ...] = ()
    text: str = ''


@dataclass
class Campaign:
    """`strict`: the machine does nothing else. The neighbour's latency counts as a failure then, and an answer has to
    come within its budget of seconds. On a busy machine the latency is only reported, and a late answer is a failure
    only if one process consumed more CPU than the budget, or if none came at all (`tenants.PATIENCE`)."""

    target: Target
    strict: bool = True
    rows: list[Row] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def __enter__(self) -> Campaign:
        self.neighbour = Neighbour(self.target.neighbour)
        time.sleep(2.0)                             # the services have done everything once
        self.memory, self.processor = Memory(self.target.pids()), Processor(self.target.pids())
        return self

    def __exit__(self, *_error: object) -> None:
        self.neighbour.stop()

    def idle(self, seconds: float = 5.0) -> float:
        """The neighbour's 99th percentile while nothing else happens: what the machine itself costs."""
        began = time.monotonic()
        time.sleep(seconds)
        return percentile((each.seconds for each in self.neighbour.between(began, time.monotonic())), 0.99)

    def run(self, cases: Iterable[Case], stages: frozenset[str] = STAGES) -> list[Row]:
        found = []
        for case in cases:
            began = time.monotonic()
            self.reset()
            for attempt in attempts(self.target.hostile, case, stages):
                time.sleep(SETTLES)                 # what the neighbour sent meanwhile is answered
                seen = self.neighbour.between(began, time.monotonic())
                self.seen += seen
                row = self._judged(case, attempt, seen)
                found.append(row)
                self.rows.append(row)
                if not 200 <= row.status < 500 and self.is_wedged:
                    return found                    # nothing is left to be measured
                self.reset()
                began = time.monotonic()
        return found

    def reset(self) -> None:
        self.memory.reset()
        self.processor.reset()

    def _judged(self, case: Case, attempt: Attempt, seen: list[Seen]) -> Row:
        answer, diagnostics = attempt.answer, []
        has_failed = 400 <= answer.status < 500 or (attempt.state or '').endswith('FAILED')
        if attempt.stage in EVALUATED and case.refused and not has_failed:
            diagnostics.append(f'answered {answer.status} where a refusal was expected')
        if not 200 <= answer.status < 500:
            diagnostics.append(f'answered {answer.status}: {answer.text[:300]}')
        if attempt.state is not None and attempt.state.endswith('IN_PROGRESS'):
            diagnostics.append(f'still {attempt.state}')
        return self.measured(case.name, attempt.stage, answer, attempt.state, seen, diagnostics)

    def measured(self, name: str, stage: str, answer: Answer, state: str | None, seen: list[Seen],
                 diagnostics: list[str], longest: float = LONGEST) -> Row:
        """A row, with what was outside the budgets since the meters were reset added to the complaints."""
        latencies, growth = [each.seconds for each in seen], self.memory.growth()
        p99, worst = percentile(latencies, 0.99), max(latencies, default=0.0)
        if not seen:
            diagnostics.append('the neighbour was not answered at all')
        cpu = self.processor.seconds()
        if answer.seconds > longest and (self.strict or cpu > longest):
            diagnostics.append(f'answered after {answer.seconds:.1f} s and {cpu:.1f} s of CPU')
        if growth > MEMORY:
            diagnostics.append(f'memory grew by {growth:.0f} MiB')
        if self.strict and p99 > NEIGHBOUR:
            diagnostics.append(f'the neighbour waited {p99:.2f} s')
        if wrong := [each for each in seen if each.status not in (200, 201)]:
            diagnostics.append(f'the neighbour was answered {wrong[0].status} ({len(wrong)} times)')
        diagnostics += self.target.ended()
        return Row(name, stage, answer.status, state, answer.seconds, growth, p99, worst, tuple(diagnostics),
                   answer.text[:200])

    @property
    def is_wedged(self) -> bool:
        """The services can take no further case: one has ended, or does not answer any more."""
        return bool(self.target.ended()) or self.target.neighbour.ask('POST', '/validate', {
            'template': TEMPLATE}, patience=LONGEST).status != 200



def summary(rows: Sequence[Row], seen: Sequence[Seen]) -> str:
    latencies = [each.seconds for each in seen]
    return (f'{len({row.case for row in rows})} cases, {len(rows)} requests, '
            f'{sum(bool(row.diagnostics) for row in rows)} outside the budgets; '
            f'worst memory {max((row.growth for row in rows), default=0):.0f} MiB, '
            f'worst answer {max((row.seconds for row in rows), default=0):.1f} s; '
            f'neighbour: {len(latencies)} requests, p50 {percentile(latencies, 0.5) * 1000:.0f} ms, '
            f'p99 {percentile(latencies, 0.99) * 1000:.0f} ms, worst {max(latencies, default=0) * 1000:.0f} ms')


def attack(campaign: Campaign, peer: Peer) -> Row:
    """One attack below the level of requests."""
    target, began = campaign.target, time.monotonic()
    campaign.reset()
    statuses = peer.attack(target.hostile, target.ports[peer.api])
    seconds = time.monotonic() - began
    time.sleep(SETTLES)
    seen = campaign.neighbour.between(began, time.monotonic())
    campaign.seen += seen
    wrong = Counter(status for status in statuses if status not in peer.allowed)
    diagnostics = [f'answered, beside {len(statuses) - wrong.total()} others: {dict(wrong)}'] if wrong else []
    row = campaign.measured(peer.name, 'connection', Answer(statuses[-1], str(statuses), seconds / len(statuses)),
                            None, seen, diagnostics, peer.within)
    campaign.rows.append(row)
    return row


def table(rows: Iterable[Row]) -> str:
    lines = [f'{"case":38} {"stage":15} {"status":>6} {"state":16} {"s":>6} {"MiB":>6} {"p99 ms":>7} {"worst":>7}']
    for row in rows:
        lines.append(f'{row.case[:38]:38} {row.stage:15} {row.status:6} {(row.state or "")[:16]:16} {row.seconds:6.2f} '
                     f'{row.growth:6.0f} {row.neighbour_p99 * 1000:7.0f} {row.neighbour_worst * 1000:7.0f}')
        lines += [f'    ! {diagnostic}' for diagnostic in row.diagnostics]
    return '\n'.join(lines)
