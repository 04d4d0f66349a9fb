"""Assembles the CloudWatch API."""

from __future__ import annotations

from collections.abc import Mapping

from oslo_config import cfg

from heatlite.api import cells, wsgi
from heatlite.api.aws import layers
from heatlite.api.cloudwatch import answers, application
from heatlite.api.cloudwatch.version import OptionalVersion
from heatlite.api.deploy import Application, Layer
from heatlite.common import limits
from heatlite.common.policy import Policy
from heatlite.db.connection import Database
from heatlite.rpc.cells import NONE, Cell
from heatlite.rpc.client import EngineClient

refusal = answers.refusal


def build(conf: cfg.ConfigOpts, database: Database, engine: EngineClient, identity: Layer | None = None,
          others: Mapping[str, Cell] = NONE) -> Application:
    """Build the WSGI application of the CloudWatch API.

    `identity`: a layer that sets verified identity headers, instead of signature and token.
    `others`: the cells beside that of `database`.
    """
    services = cells.joined(wsgi.HandlerServices(conf, database, engine, Policy(conf)), others)
    return layers.around(application.CloudWatchActions(services), services, answers.error, answers.failure, identity,
                         group='heat_api_cloudwatch', fields=limits.METRIC_FORM_FIELDS, version=OptionalVersion)
