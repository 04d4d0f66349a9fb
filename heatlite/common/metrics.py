"""Metrics of the service, read at /metrics in Prometheus' text format; those of engines where there is an engine.

Labels have few values: never a stack, a project or a user. Times are seconds. Gauges of queues are read when they are
collected (`set_function`), counters of rows are increased once for many: nothing is done for each resource but one
increase at the end of its step. docs/operators/metrics.rst lists them all.
"""

from __future__ import annotations

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

CONTENT_TYPE = CONTENT_TYPE_LATEST
_QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LONG = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0)
_CHARACTERS = (1_000, 10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)

registry = CollectorRegistry(auto_describe=True)        # what this process serves
# A gauge of an engine that an API served, with 0, would hide from alerts that there is no engine.
of_engines = CollectorRegistry(auto_describe=True)
# The library would serve a series more for each counter and histogram, which nothing reads.
disable_created_metrics()                   # type: ignore[no-untyped-call]

stacks = Counter('heatlite_stacks', 'Stack actions that ended.', ['action', 'outcome'], registry=of_engines)
steps = Counter('heatlite_steps', 'Steps (one resource in one traversal) that ended.', ['action', 'outcome'],
                registry=of_engines)
stack_seconds = Histogram('heatlite_stack_seconds', 'Time from the begin to the end of a stack action.',
                          ['action', 'outcome'], buckets=_LONG, registry=of_engines)
stacks_given_up = Counter('heatlite_stacks_given_up', 'Stacks that failed as no engine could drive them.',
                          registry=of_engines)

# --- work that waits, of an engine
stacks_owned = Gauge('heatlite_stacks_owned', 'Stacks this engine drives now.', registry=of_engines)
stacks_loading = Gauge('heatlite_stacks_loading', 'Stacks of this engine that are not loaded yet.', registry=of_engines)
steps_running = Gauge('heatlite_steps_running', 'Calls into resource types that are under way.', registry=of_engines)
steps_waiting = Gauge('heatlite_steps_waiting', 'Calls into resource types that wait for a thread.',
                      registry=of_engines)
steps_waiting_for_room = Gauge('heatlite_steps_waiting_for_room',
                               'Steps that begin nested stacks once others have ended.', registry=of_engines)
timers_waiting = Gauge('heatlite_timers_waiting', 'Checks, retries and time-outs that are not due yet.',
                       registry=of_engines)
journal_waiting = Gauge('heatlite_journal_waiting', 'Changes that the journal has not begun to write.',
                        registry=of_engines)
lease_seconds_left = Gauge('heatlite_lease_seconds_left', 'Time until the leases of this engine end.',
                           registry=of_engines)
takeovers = Counter('heatlite_lease_takeovers', 'Stacks taken over from an engine that went silent.',
                    registry=of_engines)
leases_lost = Counter('heatlite_leases_lost', 'Stacks another engine took from this one.', registry=of_engines)
journal_changes = Histogram('heatlite_journal_changes', 'Changes in one transaction of the journal.',
                            buckets=_SIZES, registry=of_engines)
journal_characters = Histogram('heatlite_journal_characters', 'Characters of values in one transaction of the journal.',
                               buckets=_CHARACTERS, registry=of_engines)
journal_seconds = Histogram('heatlite_journal_seconds', 'Time of one transaction of the journal.',
                            buckets=_QUICK, registry=of_engines)
evaluations = Counter('heatlite_alarm_evaluations', 'Alarms that were evaluated for one period.', registry=of_engines)
datapoints = Counter('heatlite_metric_datapoints', 'Datapoints of metrics that were stored.', registry=of_engines)
rpc_seconds = Histogram('heatlite_rpc_seconds', 'Time an engine took to answer a message.', ['method'],
                        buckets=_QUICK, registry=of_engines)
rpc_running = Gauge('heatlite_rpc_running', 'Messages that this engine is answering.', registry=of_engines)
rpc_waiting_for_slot = Gauge('heatlite_rpc_waiting_for_slot', 'Messages that wait until this engine has room for them.',
                             registry=of_engines)
rpc_waiting = Gauge('heatlite_rpc_waiting', 'Requests of this process that wait for the answer of an engine.',
                    registry=registry)
http_seconds = Histogram('heatlite_http_seconds', 'Time the API took to answer a request.',
                         ['route', 'method', 'code'], buckets=_QUICK, registry=registry)
http_dropped = Counter('heatlite_http_connections_dropped', 'Connections that the built-in server ended.', ['reason'],
                       registry=registry)      # room, deadline, refused, malformed: docs/operators/metrics.rst
service_seconds = Histogram('heatlite_service_seconds', 'Time a service of the cloud took to answer a request.',
                            ['service', 'outcome'], buckets=_QUICK, registry=of_engines)
outage = Gauge('heatlite_outage', '1 while this process waits for a service that it needs.', ['service'],
               registry=registry)

retries = Counter('heatlite_retries', 'Attempts that were made again after a failure.', ['kind'], registry=registry)

# --- plans, drift and event streams
plans = Counter('heatlite_plans', 'What happened to plans.', ['event'], registry=of_engines)
plans_refused = Counter('heatlite_plans_refused', 'Plans that were not applied when that was asked for.', ['reason'],
                        registry=of_engines)
drift_looks = Counter('heatlite_drift_looks', 'Stacks that were compared with their objects.', ['by', 'outcome'],
                      registry=of_engines)
drift_resources = Counter('heatlite_drift_resources', 'Resources in these looks.', ['finding'], registry=of_engines)
drift_repairs = Counter('heatlite_drift_repairs', 'Updates that repair what scheduled looks have found.',
                        registry=of_engines)
drift_requests = Counter('heatlite_drift_requests', 'Requests that looks have sent.', ['service'], registry=of_engines)
drift_wait = Counter('heatlite_drift_wait_seconds', 'Time that scheduled looks have waited for their budget.',
                     ['service'], registry=of_engines)
drift_watched = Gauge('heatlite_drift_stacks', 'Stacks that are looked at by schedule, of all engines.',
                      registry=of_engines)
streams = Gauge('heatlite_event_streams', 'Event streams of this process.', registry=registry)
streams_ended = Counter('heatlite_event_streams_ended', 'Event streams that this process ended or refused.', ['reason'],
                        registry=registry)
stream_events = Counter('heatlite_event_stream_events', 'Events that were read for event streams.', registry=registry)
stream_lag = Histogram('heatlite_event_stream_lag_seconds', 'Age of the oldest event that was just read for streams.',
                       buckets=_QUICK, registry=registry)

_MOST_SERVICES = 64         # plug-ins of operators name services, too: a label must not grow without a bound
_services: set[str] = set()
_has_engine = False


def service_label(service_type: str) -> str:
    """`service_type`, or 'other' once there are too many of them."""
    if service_type not in _services and len(_services) >= _MOST_SERVICES:
        return 'other'
    _services.add(service_type)
    return service_type


def serve_engine() -> None:
    """Serve the metrics of engines from now on: this process has one. Again is harmless."""
    global _has_engine
    if not _has_engine:
        registry.register(of_engines)
        _has_engine = True


def text() -> bytes:
    """All metrics of this process in Prometheus' text format."""
    return generate_latest(registry)
