"""What the tests themselves stand on."""

from pathlib import Path

from tests.system.processes import free_port


def test_ports_are_given_once_and_never_to_outgoing_connections():
    given = [free_port() for _time in range(500)]
    outgoing, _last = Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split()
    assert len(set(given)) == 500 and max(given) < int(outgoing)
