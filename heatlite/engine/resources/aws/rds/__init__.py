"""AWS names for servers with databases, as Trove of this cloud makes them."""
