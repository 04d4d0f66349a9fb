"""wsgi: ready-made WSGI applications for any WSGI server.

`heatlite.wsgi.api:application` is the REST API, `heatlite.wsgi.cfn:application` the CloudFormation API,
`heatlite.wsgi.cloudwatch:application` the CloudWatch API. Must only assemble parts.
"""
