"""The CloudWatch API for any WSGI server: `gunicorn heatlite.wsgi.cloudwatch:application`."""

from heatlite.wsgi import lazy

application = lazy.application('heatlite-api-cloudwatch', 'heatlite.api.cloudwatch.deploy')
