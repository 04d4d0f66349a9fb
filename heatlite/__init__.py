"""heatlite: an orchestration service for OpenStack-style clouds.

The rooms and which way imports go: docs/developers/architecture.rst. Imports go down the stairs only:
cmd > api | engine > rpc > db > planning > language > common.
"""
