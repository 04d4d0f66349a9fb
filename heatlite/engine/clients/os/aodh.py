"""Alarms (Aodh)."""

from __future__ import annotations

from functools import cached_property

from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'aodh'


class AlarmClient(collection.Client):
    alarm = cached_property(collection.plain('/v2/alarms'))


class AodhClientPlugin(service.ServicePlugin[AlarmClient]):
    option_group = CLIENT_NAME
    service_types = [ALARMING] = ['alarming']
    client_class = AlarmClient
