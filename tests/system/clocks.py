"""Wall clocks of processes that are set while they run, by libfaketime. Their monotonic clocks go on."""

from __future__ import annotations

from pathlib import Path

LIBRARY = next(iter(sorted(Path('/usr/lib').glob('*/faketime/libfaketimeMT.so.1'))), None)


class Clock:
    """The clock of the programs that are started with its `environment`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.set(0)
        assert LIBRARY is not None
        self.environment = {'LD_PRELOAD': str(LIBRARY), 'FAKETIME_TIMESTAMP_FILE': str(file), 'FAKETIME_NO_CACHE': '1',
                            'FAKETIME_DONT_FAKE_MONOTONIC': '1', 'DONT_FAKE_MONOTONIC': '1'}

    def set(self, seconds: int) -> None:
        """Set it to so many seconds after the clock of the machine."""
        new = self._file.with_suffix('.new')
        new.write_text(f'{seconds:+d}\n')
        new.replace(self._file)                     # a reader sees one of both
