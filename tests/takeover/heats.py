"""A Heat database to take over from: its tables, and stacks in them, with little to say."""

from __future__ import annotations

import base64
import itertools
import json
from datetime import datetime, timedelta

import sqlalchemy as sa
from cryptography.fernet import Fernet

from heatlite.takeover import schema

KEY = 'the key of the Heat 0123456789ab'
NOW = datetime(2026, 1, 2, 3, 4, 5)
PROJECT, OTHER = 'p' * 32, 'q' * 32
TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {
    'word': {'type': 'OS::Heat::RandomString', 'properties': {'length': 8}}}}


def later(seconds):
    return NOW + timedelta(seconds=seconds)


def encrypted(text, key=KEY):
    return Fernet(base64.b64encode(key.encode())).encrypt(text.encode()).decode()


class Heat:
    """The tables, with what a test puts into them. `url`: of an empty database."""

    def __init__(self, url):
        self.url = url
        self.engine = sa.create_engine(url)
        schema.metadata.create_all(self.engine)
        self._numbers = itertools.count(1)

    def close(self):
        self.engine.dispose()

    def number(self):
        return next(self._numbers)

    def add(self, table, **values):
        with self.engine.begin() as tx:
            tx.execute(table.insert().values(values))
        return values

    def change(self, table, key, **values):
        with self.engine.begin() as tx:
            tx.execute(table.update().where(table.c.id == key).values(values))

    def remove(self, table, **wanted):
        with self.engine.begin() as tx:
            tx.execute(table.delete().where(*(table.c[name] == value for name, value in wanted.items())))

    # --- rows -------------------------------------------------------------------------------------------

    def template(self, document=None, environment=None, files=None):
        number = self.number()
        files_id = None
        if files is not None:
            files_id = self.number()
            self.add(schema.raw_template_files, id=files_id, files=json.dumps(files))
        self.add(schema.raw_template, id=number, template=json.dumps(document or TEMPLATE), files_id=files_id,
                 environment=json.dumps(environment or {}))
        return number

    def credentials(self, key=KEY):
        number = self.number()
        self.add(schema.user_creds, id=number, tenant='demo', tenant_id=PROJECT, auth_url='http://identity/v3',
                 trust_id=encrypted('the trust', key), trustor_user_id='u1',
                 decrypt_method='cryptography_decrypt_v1', created_at=NOW)
        return number

    def stack(self, stack_id, name=None, template=None, **changed):
        """A root that was created, without resources; `changed`: columns."""
        return self.add(schema.stack, **{
            'id': stack_id, 'name': name or f'name-{stack_id}', 'tenant': PROJECT, 'username': 'ann', 'owner_id': None,
            'nested_depth': 0, 'action': 'CREATE', 'status': 'COMPLETE', 'status_reason': 'Stack CREATE completed',
            'raw_template_id': template or self.template(), 'disable_rollback': True, 'convergence': True,
            'backup': False, 'current_traversal': 't', 'created_at': NOW, 'updated_at': None, **changed})

    def resource(self, stack_id, name='word', properties=None, **changed):
        """A resource that was created; its id."""
        number = self.number()
        self.add(schema.resource, **{
            'id': number, 'uuid': f'uuid-{number}', 'name': name, 'nova_instance': f'physical-{number}',
            'stack_id': stack_id, 'action': 'CREATE', 'status': 'COMPLETE', 'status_reason': 'state changed',
            'rsrc_metadata': '{}', 'rsrc_prop_data_id': self.properties({'length': 8} if properties is None else
                                                                        properties),
            'requires': '[]', 'atomic_key': 2, 'created_at': NOW, **changed})
        return number

    def properties(self, data, is_encrypted=False):
        number = self.number()
        if is_encrypted:
            data = {name: ['cryptography_decrypt_v1', encrypted(json.dumps(value))] for name, value in data.items()}
        self.add(schema.resource_properties_data, id=number, data=json.dumps(data), encrypted=is_encrypted)
        return number

    def datum(self, resource_id, key, value, redact=False):
        number = self.number()
        self.add(schema.resource_data, id=number, resource_id=resource_id, key=key, redact=redact,
                 value=encrypted(value) if redact else value,
                 decrypt_method='cryptography_decrypt_v1' if redact else '')

    def event(self, stack_id, name, properties=None, **changed):
        number = self.number()
        self.add(schema.event, **{
            'id': number, 'uuid': f'event-{number}', 'stack_id': stack_id, 'resource_action': 'CREATE',
            'resource_status': 'COMPLETE', 'resource_name': name, 'physical_resource_id': None,
            'resource_status_reason': 'state changed', 'resource_type': 'OS::Heat::RandomString',
            'rsrc_prop_data_id': properties, 'created_at': NOW, **changed})
        return number

    def word(self, stack_id, value='abcdefgh', **changed):
        """A whole stack: one random string with its secret value, and an event."""
        self.stack(stack_id, **{'user_creds_id': self.credentials(), **changed})
        number = self.resource(stack_id)
        self.datum(number, 'value', value, redact=True)
        self.event(stack_id, 'word', physical_resource_id=f'physical-{number}')
        return number
