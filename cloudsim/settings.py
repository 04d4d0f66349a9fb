"""What one may choose when a simulated cloud is built, or change while it runs (PUT /_sim/settings)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Settings:
    """Seconds. `latency`: before every answer; `boot`: of a server; `work`: of every other change of state; `cache`:
    for which a server shows addresses of an interface that is detached."""

    latency: float = 0.0
    boot: float = 0.2
    work: float = 0.05
    cache: float = 1.5
    password: str = 'secret'            # of every seeded user
    region: str = 'RegionOne'
    token_life: float = 86400.0

    def delay(self, name: str) -> float:
        return self.boot if name == 'boot' else self.work
