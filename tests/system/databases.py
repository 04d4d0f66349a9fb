"""Databases of a test's own on the servers of `tools/services`."""

from __future__ import annotations

import os

import sqlalchemy as sa

# By the name of the server; empty where it does not run.
SERVERS = {'mariadb': os.environ.get('HEATLITE_TEST_MYSQL_URL', ''),
           'postgresql': os.environ.get('HEATLITE_TEST_POSTGRES_URL', '')}
FIRST = next((name for name, url in SERVERS.items() if url), None)          # the one to take where any will do


def create(server: str | sa.URL, name: str) -> str:
    """Creates a database on the server with the URL `server`; the database's URL."""
    url = sa.make_url(server)
    tail = ' CHARACTER SET utf8mb4' if url.get_dialect().name == 'mysql' else ''
    _administer(url, f'CREATE DATABASE {name}{tail}')
    return url.set(database=name).render_as_string(hide_password=False)


def drop(server: str | sa.URL, name: str) -> None:
    """Drops it if it exists, with all connections to it."""
    url = sa.make_url(server)
    force = ' WITH (FORCE)' if url.get_dialect().name == 'postgresql' else ''
    _administer(url, f'DROP DATABASE IF EXISTS {name}{force}')


def _administer(url: sa.URL, statement: str) -> None:
    writable = {'target_session_attrs': 'read-write'} if url.get_backend_name() == 'postgresql' else {}
    engine = sa.create_engine(url, isolation_level='AUTOCOMMIT', connect_args=writable)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)
    finally:
        engine.dispose()
