"""api.cfn: the CloudFormation-compatible API over the same database and the same messages.

Must not implement anything a second time.
"""
