"""Metrics of the service. One registry per process, read at /metrics (Prometheus text format).

Labels have few values: never a stack, a project or a user. Times are seconds.
"""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST
_QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)

registry = CollectorRegistry(auto_describe=True)

stacks = Counter('heatlite_stacks', 'Stack actions that ended.', ['action', 'outcome'], registry=registry)
steps = Counter('heatlite_steps', 'Steps (one resource in one traversal) that ended.', ['action', 'outcome'],
                registry=registry)
stacks_owned = Gauge('heatlite_stacks_owned', 'Stacks this engine drives now.', registry=registry)
takeovers = Counter('heatlite_lease_takeovers', 'Stacks taken over from an engine that went silent.',
                    registry=registry)
leases_lost = Counter('heatlite_leases_lost', 'Stacks another engine took from this one.', registry=registry)
journal_changes = Histogram('heatlite_journal_changes', 'Changes in one transaction of the journal.',
                            buckets=_SIZES, registry=registry)
journal_seconds = Histogram('heatlite_journal_seconds', 'Time of one transaction of the journal.',
                            buckets=_QUICK, registry=registry)
evaluations = Counter('heatlite_alarm_evaluations', 'Alarms that were evaluated for one period.', registry=registry)
datapoints = Counter('heatlite_metric_datapoints', 'Datapoints of metrics that were stored.', registry=registry)
rpc_seconds = Histogram('heatlite_rpc_seconds', 'Time an engine took to answer a message.', ['method'],
                        buckets=_QUICK, registry=registry)
http_seconds = Histogram('heatlite_http_seconds', 'Time the API took to answer a request.',
                         ['route', 'method', 'code'], buckets=_QUICK, registry=registry)
http_dropped = Counter('heatlite_http_connections_dropped', 'Connections that the built-in server ended.', ['reason'],
                       registry=registry)      # room: replaced by new ones, deadline: too slow, refused: all are busy
service_seconds = Histogram('heatlite_service_seconds', 'Time a service of the cloud took to answer a request.',
                            ['service', 'outcome'], buckets=_QUICK, registry=registry)
outage = Gauge('heatlite_outage', '1 while this process waits for a service that it needs.', ['service'],
               registry=registry)

_MOST_SERVICES = 64         # plug-ins of operators name services, too: a label must not grow without a bound
_services: set[str] = set()


def service_label(service_type: str) -> str:
    """`service_type`, or 'other' once there are too many of them."""
    if service_type not in _services and len(_services) >= _MOST_SERVICES:
        return 'other'
    _services.add(service_type)
    return service_type


def text() -> bytes:
    """All metrics in Prometheus' text format."""
    return generate_latest(registry)
