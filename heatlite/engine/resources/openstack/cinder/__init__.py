"""Types of the block storage service that need code of their own: volumes and attachments."""
