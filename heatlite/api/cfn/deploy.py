"""Assembles the CloudFormation API."""

from __future__ import annotations

from collections.abc import Mapping

from oslo_config import cfg

from heatlite.api import cells, wsgi
from heatlite.api.aws import layers
from heatlite.api.cfn import answers, application
from heatlite.api.deploy import Application, Layer
from heatlite.common.policy import Policy
from heatlite.db.connection import Database
from heatlite.rpc.cells import NONE, Cell
from heatlite.rpc.client import EngineClient

refusal = answers.refusal


def build(conf: cfg.ConfigOpts, database: Database, engine: EngineClient, identity: Layer | None = None,
          others: Mapping[str, Cell] = NONE) -> Application:
    """Build the WSGI application of the CloudFormation API.

    `identity`: a layer that sets verified identity headers, instead of signature and token.
    `others`: the cells beside that of `database`.
    """
    services = cells.joined(wsgi.HandlerServices(conf, database, engine, Policy(conf)), others)
    return layers.around(application.CfnActions(services), services, answers.error, answers.failure, identity,
                         is_change=application.is_change)
