"""Metrics and alarms, as a pure function of their datapoints: aggregation, evaluation, what an alarm does."""
