"""Types of the container service that need code of their own: containers and their networks."""
