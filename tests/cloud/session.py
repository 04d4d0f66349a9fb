"""Many lives in one cloud, and the assurance that nothing of them is left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tests.cloud import clouds, deployment
from tests.cloud.living import Diary, live
from tests.cloud.table import lives

Diaries = dict[str, Future[Diary] | str]


@contextlib.contextmanager
def lived(cloud_name: str, wanted: Iterable[str], folder: Path, at_once: int) -> Iterator[Diaries]:
    """Life -> what becomes of it, or why it cannot be lived in this cloud.

    With one at a time the objects each makes are counted too. Raises AssertionError when the cloud has more in it at
    the end than before.
    """
    with clouds.of(cloud_name, folder) as cloud:
        before = cloud.listing()
        with (cloud.furnished() as names, deployment.running(cloud, folder) as heatlite,
              ThreadPoolExecutor(at_once) as pool):
            found: Diaries = {}
            for name in wanted:
                life = lives()[name]
                missing = life.wants - cloud.abilities
                found[name] = (f'the cloud {cloud.name} has no {", ".join(sorted(missing))}' if missing else
                               pool.submit(live, cloud, heatlite, life, names, counting=at_once == 1))
            yield found
        kept = {kind for name in found for kind in lives()[name].leaves}
        left = {kind: ids - before[kind] for kind, ids in cloud.listing().items()
                if ids - before[kind] and kind not in kept}
        assert left == {}, f'left behind in the cloud: {left}'
