"""AWS names for databases of this cloud."""
