"""Types of the database service that need code of their own: instances and what lives in them."""
