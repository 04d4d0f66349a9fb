"""AWS names for users inside a stack and their access keys."""
