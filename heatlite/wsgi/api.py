"""The REST API for any WSGI server: `gunicorn heatlite.wsgi.api:application`, `uwsgi --module heatlite.wsgi.api`."""

from heatlite.wsgi import lazy

application = lazy.application('heatlite-api', 'heatlite.api.deploy')
