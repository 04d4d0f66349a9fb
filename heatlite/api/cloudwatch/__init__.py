"""api.cloudwatch: the CloudWatch-compatible API: metrics and alarms over three protocols of AWS.

Each action has one input shape and one function; a protocol only decodes to the one and renders what the other returns.
Must not import engine code.
"""
