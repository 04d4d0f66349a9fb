"""api.cfn: the CloudFormation-compatible door over the same database and the same messages.

May not come in: a second way to do anything.
"""
