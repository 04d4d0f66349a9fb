"""Hostile input against real processes: what it costs its sender, the service and a neighbour.

`python -m tests.hostile --profile embedded|production` runs every case at every stage and prints a table;
`--fuzz MINUTES` adds templates grown from a grammar of the language, each of which can be run again by its seed.
A selection runs with the other tests (test_hostile.py).

Must not import heatlite: the service is reached over sockets only.
"""
