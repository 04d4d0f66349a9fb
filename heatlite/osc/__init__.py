"""Commands for the `openstack` program beside those of python-heatclient: plans.

Imports nothing of the service: it is used where only the client is installed, over the REST API.
"""
