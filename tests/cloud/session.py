"""Many lives, and many changes by plans, in one cloud, and the assurance that nothing of them is left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cloud import changes, clouds, deployment
from tests.cloud.changes import Subject
from tests.cloud.clouds import Cloud
from tests.cloud.deployment import Deployment
from tests.cloud.living import Diary, live
from tests.cloud.planned import UNTRIED, Outcome, Trial
from tests.cloud.table import lives

Diaries = dict[str, Future[Diary] | str]
Outcomes = dict[str, Future[list[Outcome]]]


@dataclass(frozen=True)
class Session:
    """A heatlite-all that works in a cloud, and what the cloud has for templates."""

    cloud: Cloud
    heatlite: Deployment
    names: dict[str, Any]


@contextlib.contextmanager
def opened(cloud_name: str, folder: Path) -> Iterator[Session]:
    """Raises AssertionError when the cloud has more in it at the end than before, but for kinds that some life leaves.
    """
    with clouds.of(cloud_name, folder) as cloud:
        before = cloud.listing()
        with cloud.furnished() as names, deployment.running(cloud, folder) as heatlite:
            yield Session(cloud, heatlite, names)
        kept = {kind for life in lives().values() for kind in life.leaves}
        left = {kind: ids - before[kind] for kind, ids in cloud.listing().items()
                if ids - before[kind] and kind not in kept}
        assert left == {}, f'left behind in the cloud: {left}'


@contextlib.contextmanager
def lived(session: Session, wanted: Iterable[str], at_once: int) -> Iterator[Diaries]:
    """Life -> what becomes of it, or why it cannot be lived in this cloud. With one at a time the objects each makes
    are counted too."""
    with ThreadPoolExecutor(at_once) as pool:
        found: Diaries = {}
        for name in wanted:
            life = lives()[name]
            missing = life.wants - session.cloud.abilities
            found[name] = (f'the cloud {session.cloud.name} has no {", ".join(sorted(missing))}' if missing else
                           pool.submit(live, session.cloud, session.heatlite, life, session.names,
                                       counting=at_once == 1))
        yield found


@contextlib.contextmanager
def planned(session: Session, wanted: Iterable[str], at_once: int) -> Iterator[Outcomes]:
    """Type -> what becomes of the changes of its properties; types whose objects have the same names are tried one
    after the other."""
    found: Outcomes = {name: Future() for name in wanted}

    def turns(group: list[str]) -> None:
        for name in group:
            try:
                found[name].set_result(_changed(session, changes.subjects()[name]))
            except BaseException as error:
                found[name].set_exception(error)

    with ThreadPoolExecutor(at_once) as pool:
        for group in sorted(changes.groups(found).values(), key=len, reverse=True):
            pool.submit(turns, group)
        yield found


def _changed(session: Session, subject: Subject) -> list[Outcome]:
    missing = subject.wants - session.cloud.abilities
    why = subject.untried or (f'the cloud has no {", ".join(sorted(missing))}' if missing else None)
    if why:
        return [Outcome('*', UNTRIED, text=why)]
    return list(Trial(session.cloud, session.heatlite, subject, session.names).run())
