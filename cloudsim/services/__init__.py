"""The simulated services: a YAML description each, and code only for what is special about one.

May not come in: knowledge of another service's insides, other than by `cloud.table` and `cloud.service`.
"""
