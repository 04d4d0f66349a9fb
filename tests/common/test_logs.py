"""Each record is one line, or one document, whatever handler and formatter the operator chose."""

import io
import json
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oslo_config import cfg
from oslo_log import formatters, log

from heatlite.common import config, logs
from heatlite.common.context import RequestContext, bind

ANY_TEXT = st.text(st.characters())             # lone surrogates included


@pytest.fixture(scope='module')
def conf():
    made = cfg.ConfigOpts()
    log.register_options(made)
    made([], default_config_files=[])
    made.set_default('logging_context_format_string', config.LOG_LINE)
    made.set_default('logging_default_format_string', config.LOG_LINE_OF_THE_SERVICE)
    return made


def record(message, *args, level=logging.INFO, error=None, **extra):
    exc_info = (type(error), error, None) if error else None
    made = logging.LogRecord('heatlite.x', level, __file__, 1, message, args, exc_info)
    made.__dict__.update(extra)
    return made


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_one_record_is_one_line(conf, text, project, why):
    context = RequestContext(project_id=project, user_id=text, request_id=f'req-{why}', overwrite=False)
    line = logs.LineFormatter(conf, 'x').format(record('%s failed', text, error=ValueError(why), context=context))
    first, *rest = line.splitlines()
    assert ' INFO heatlite.x [' in first
    assert all(each.startswith(logs.INDENT) for each in rest)
    line.encode()                               # any handler can write it
    assert first.partition('] ')[0].count(' ') == 8


@given(ANY_TEXT)
def test_json_is_one_line(conf, text):
    line = logs.JsonFormatter().format(record('%s failed', text, error=ValueError(text), context=RequestContext(
        project_id=text, overwrite=False, password='secret')))
    assert len(line.splitlines()) == 1 and 'secret' not in line
    assert json.loads(line)['levelname'] == 'INFO'
    line.encode()


@given(ANY_TEXT)
def test_other_formatters_are_guarded(text):
    line = logs.Guard(logging.Formatter('%(message)s')).format(record('failed: %s', text, error=ValueError(text)))
    assert all(each.startswith(logs.INDENT) for each in line.splitlines()[1:])
    line.encode()


@pytest.mark.parametrize('message, args', [('x' * 100_000, ()), ('%s', ('\n' * 100_000,)), ('%s %s', ('few',))])
def test_a_message_is_bounded(conf, message, args):
    line = logs.LineFormatter(conf, 'x').format(record(message, *args))
    assert len(line) < logs.LONGEST + 200


def test_a_traceback_is_bounded(conf):
    try:
        raise ValueError('x\n' * 1000)
    except ValueError:
        lines = logs.LineFormatter(conf, 'x').format(
            logging.LogRecord('x', 40, '', 1, 'm', (), sys.exc_info())).splitlines()
    assert len(lines) == logs.LONGEST_TRACEBACK + 2 and 'lines left out' in lines[logs.LONGEST_TRACEBACK // 2 + 1]


def test_colours_of_the_operator_stay(conf):
    bind(None)
    conf.set_override('logging_default_format_string', '%(color)s%(message)s\x1b[00m')
    try:
        line = logs.LineFormatter(conf, 'x').format(record('a\x1b[2Kb', color='\x1b[01;31m'))
    finally:
        conf.clear_override('logging_default_format_string')
    assert line == '\x1b[01;31ma\\x1b[2Kb\x1b[00m'


def test_handlers_of_any_kind_get_one(conf):
    kept, logging.root.handlers[:] = list(logging.root.handlers), []
    try:
        for formatter in (None, formatters.ContextFormatter(config=conf), formatters.JSONFormatter(),
                          logging.Formatter('%(message)s')):
            handler = logging.StreamHandler(io.StringIO())
            handler.setFormatter(formatter)
            logging.root.addHandler(handler)
        logs.install(conf, 'x')
        logs.install(conf, 'x')
        assert [type(each.formatter) for each in logging.root.handlers] == [
            logs.LineFormatter, logs.LineFormatter, logs.JsonFormatter, logs.Guard]
    finally:
        logging.root.handlers[:] = kept


def test_lines_carry_the_bound_context(conf):
    line = logs.LineFormatter(conf, 'x')
    context = RequestContext(request_id='req-1', project_id='p', user_id='u', global_request_id='req-g',
                             overwrite=False)
    bind(None)
    assert '[- - - -]' in line.format(record('m'))
    with context.bound():
        assert '[req-1 req-g u p]' in line.format(record('m'))
    assert '[- - - -]' in line.format(record('m'))


def test_a_context_made_aside_binds_nothing():
    from oslo_context import context as contexts
    bind(None)
    RequestContext(overwrite=False)
    assert contexts.get_current() is None
