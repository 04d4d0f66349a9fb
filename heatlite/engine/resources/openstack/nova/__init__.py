"""Types of the compute service that need code of their own: servers and their addresses."""
