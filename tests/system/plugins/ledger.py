"""A type whose things are lines of a file: what was made, by which process, when, and whether it was made twice."""

import os
import time

from heat.common.i18n import _
from heat.engine import properties, resource

LEDGER = os.environ.get('HEATLITE_TEST_LEDGER', '')


class Entry(resource.Resource):
    """Takes `seconds` to become ready. Other seconds mean another thing, another note means the same one. To check a
    definition of it takes `checking` seconds."""

    PROPERTIES = (SECONDS, NOTE, CHECKING) = ('seconds', 'note', 'checking')
    properties_schema = {
        SECONDS: properties.Schema(properties.Schema.NUMBER, _('Until it is ready.'), default=2),
        NOTE: properties.Schema(properties.Schema.STRING, _('Anything.'), default='', update_allowed=True),
        CHECKING: properties.Schema(properties.Schema.NUMBER, _('Seconds.'), default=0, update_allowed=True),
    }

    def validate(self):
        super().validate()
        if self.properties[self.CHECKING]:
            self._write('checking')
            time.sleep(self.properties[self.CHECKING])

    def _write(self, what, note=''):
        """One line: what, which, who, when, note. A single write: several processes append to one file."""
        line = f'{what} {self.physical_resource_name()} {os.getpid()} {time.time():.3f} {note}\n'
        ledger = os.open(LEDGER, os.O_WRONLY | os.O_APPEND)
        os.write(ledger, line.encode())
        os.close(ledger)

    def handle_create(self):
        self._write('made', self.properties[self.NOTE])
        self.resource_id_set(self.physical_resource_name())
        return {'until': time.time() + self.properties[self.SECONDS]}

    def find_existing(self):
        with open(LEDGER) as ledger:
            lines = ledger.read().split('\n')
        name = self.physical_resource_name()
        return name if any(line.startswith(f'made {name} ') for line in lines) else None

    def check_create_complete(self, handle):
        return time.time() >= (handle or {}).get('until', 0)

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self._write('changed', json_snippet.properties(self.properties_schema)[self.NOTE])

    def handle_delete(self):
        if self.resource_id is not None:
            self._write('deleted')


class Listener(resource.Resource):
    """Counts its signals in its metadata: {number: details}. They are written with the end of the signal."""

    properties_schema = {}

    def handle_create(self):
        self.resource_id_set(self.physical_resource_name())

    def handle_signal(self, details=None):
        heard = dict(self.metadata_get(refresh=True) or {})
        heard[str(len(heard))] = details
        self.metadata_set(heard)


def resource_mapping():
    return {'Test::Ledger::Entry': Entry, 'Test::Ledger::Listener': Listener}
