"""The CloudFormation API for any WSGI server: `gunicorn heatlite.wsgi.cfn:application`."""

from heatlite.wsgi import lazy

application = lazy.application('heatlite-api-cfn', 'heatlite.api.cfn.deploy')
