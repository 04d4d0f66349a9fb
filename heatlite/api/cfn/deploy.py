"""Assembles the CloudFormation API."""

from __future__ import annotations

from oslo_config import cfg

from heatlite.api import wsgi
from heatlite.api.aws import layers
from heatlite.api.cfn import answers, application
from heatlite.api.deploy import Application, Layer
from heatlite.common.policy import Policy
from heatlite.db.connection import Database
from heatlite.rpc.client import EngineClient

refusal = answers.refusal


def build(conf: cfg.ConfigOpts, database: Database, engine: EngineClient, identity: Layer | None = None) -> Application:
    """Builds the WSGI application of the CloudFormation API.

    `identity`: a layer that sets verified identity headers, instead of signature and token.
    """
    services = wsgi.Services(conf, database, engine, Policy(conf))
    return layers.around(application.Actions(services), services, answers.error, answers.failure, identity,
                         is_change=application.is_change)
