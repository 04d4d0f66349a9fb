"""Types of the network service that need code of their own: ports, groups, associations."""
