"""S3 names for containers of the object storage of this cloud."""
