"""Types with the names of the EC2 family, over the services of this cloud."""
