"""conformance: what authors of plug-ins run against their types - whole engines in virtual time, killed at every point.

`pytest --heatlite-plugin PATH` and `heatlite-manage plugin check PATH` lead here. Must not use the options of a service
or real time, nor import a cloud of ours: the simulated one is started as a process and reached over HTTP.
"""
