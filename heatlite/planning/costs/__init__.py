"""What the resources of a plan use of quotas, and what they cost."""
