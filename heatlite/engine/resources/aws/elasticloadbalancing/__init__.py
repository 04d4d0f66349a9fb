"""AWS names for load balancers, as Octavia makes them, or a server of HAProxy where there is no Octavia."""
