"""The simulated services: a YAML description each, and code only for what is special about one.

A service must not know the insides of another one, other than by `cloud.table` and `cloud.service`.
"""
