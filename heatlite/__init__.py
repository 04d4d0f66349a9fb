"""heatlite: an orchestration service for OpenStack-style clouds.

The packages: docs/developers/architecture.rst. Imports point downwards (pyproject.toml):
cmd > api | engine > rpc > db > planning > language > common.
"""
