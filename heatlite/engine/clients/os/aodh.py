"""Alarms (Aodh)."""

from __future__ import annotations

from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'aodh'


class AlarmClient(collection.Client):
    COLLECTIONS = {'alarm': ('/v2/alarms', None, None)}


class AodhClientPlugin(service.ServicePlugin):
    option_group = CLIENT_NAME
    service_types = [ALARMING] = ['alarming']
    client_class = AlarmClient
