"""wsgi: ready-made WSGI applications for any WSGI server.

`heatlite.wsgi.api:application` is the REST API, `heatlite.wsgi.cfn:application` the CloudFormation API. Must only
assemble parts.
"""
