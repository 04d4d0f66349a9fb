"""The application for any WSGI server is built at the first request, once, in the process that answers."""

from heatlite.wsgi import lazy


def test_nothing_is_built_before_the_first_request_and_once_after_it():
    built = []

    def build():
        built.append(None)
        return lambda environ, start_response: [environ['PATH_INFO'].encode()]

    application = lazy.Lazy(build)
    assert built == []
    assert application({'PATH_INFO': '/a'}, None) == [b'/a']
    assert application({'PATH_INFO': '/b'}, None) == [b'/b']
    assert len(built) == 1
