"""What a run of the matrix has found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Report:
    requests: int = 0
    seconds: float = 0.0
    leaks: list[str] = field(default_factory=list)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)        # (caller, status)

    def leak(self, what: str, request: object, *more: object) -> None:
        self.leaks.append(f'{what}: {request}' + ''.join(f'\n    {str(each)[:600]}' for each in more))

    def __str__(self) -> str:
        lines = [f'{self.requests} requests in {self.seconds:.0f} s, {len(self.leaks)} leaks']
        lines += [f'  {caller:16} ' + ', '.join(
            f'{status}: {count}' for (who, status), count in sorted(self.statuses.items()) if who == caller)
            for caller in dict.fromkeys(who for who, _status in sorted(self.statuses))]
        return '\n'.join([*lines, *self.leaks[:40]])
