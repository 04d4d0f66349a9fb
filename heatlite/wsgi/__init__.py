"""wsgi: ready-made WSGI applications for any WSGI server.

`heatlite.wsgi.api:application` is the REST API, `heatlite.wsgi.cfn:application` the CloudFormation API. May not come
in: anything but putting parts together.
"""
