"""A type that ends or stops the engine that executes it."""

import ctypes
import os
import re
import signal

from heat.common.i18n import _
from heat.engine import attributes, properties, resource


def loop():
    while True:
        pass


def hold():
    """Native code that lets no other thread of Python run."""
    re.match('(a+)+$', 'a' * 100 + 'b')


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def crash():
    ctypes.string_at(0)


def leave():
    os._exit(0)


def grow():
    held = []
    while True:
        held.append(bytearray(50_000_000))


WAYS = {each.__name__: each for each in (loop, hold, kill, crash, leave, grow)}


class Poison(resource.Resource):
    PROPERTIES = (WAY, PLACE) = ('way', 'place')
    properties_schema = {
        WAY: properties.Schema(properties.Schema.STRING, _('How.')),
        PLACE: properties.Schema(properties.Schema.STRING, _('In which call.')),
    }
    attributes_schema = {'value': attributes.Schema(_('Of this.'), cache_mode=attributes.Schema.CACHE_NONE)}

    def _at(self, place):
        if self.properties[self.PLACE] == place:
            WAYS[self.properties[self.WAY]]()

    def handle_create(self):
        self._at('create')
        self.resource_id_set(self.physical_resource_name())

    def check_create_complete(self, _handle):
        self._at('check')
        return True

    def handle_delete(self):
        self._at('delete')

    def _resolve_attribute(self, name):
        self._at('attribute')
        return 'good'


def resource_mapping():
    return {'Test::Poison': Poison}
