"""Types of the workflow service that need code of their own: workflows, and things made by workflows."""
