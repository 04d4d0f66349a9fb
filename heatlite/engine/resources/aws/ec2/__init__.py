"""EC2 names for servers, volumes, networks and addresses of this cloud."""
