"""Each record is one line, or one document, whatever handler and formatter the operator chose."""

import io
import json
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oslo_config import cfg
from oslo_log import formatters, handlers, log

from heatlite.common import config, exception, logs, turns
from heatlite.common.context import (
    MOST_MASKS,
    RequestContext,
    Subject,
    bind,
    hide,
    mask_of_thread,
    masked,
    note,
    working_on,
)

ANY_TEXT = st.text(st.characters())             # lone surrogates included


@pytest.fixture(scope='module')
def conf():
    made = cfg.ConfigOpts()
    log.register_options(made)
    made([], default_config_files=[])
    made.set_default('logging_context_format_string', config.LOG_LINE)
    made.set_default('logging_default_format_string', config.LOG_LINE_OF_THE_SERVICE)
    return made


@pytest.fixture(autouse=True)
def of_no_request():
    """Other tests may have left a context in this thread, which lines would carry."""
    bind(None)


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


@given(ANY_TEXT.filter(lambda text: 'secret' not in text))     # constants of this file are among what is drawn
def test_json_is_one_line(conf, text):
    line = logs.JsonFormatter().format(record('%s failed', text, error=ValueError(text), context=RequestContext(
        project_id=text, overwrite=False, password='secret')))
    assert len(line.splitlines()) == 1 and 'secret' not in line
    assert json.loads(line)['levelname'] == 'INFO'
    line.encode()


@given(ANY_TEXT)
def test_other_formatters_are_guarded(text):
    line = logs.OneLineFormatter(logging.Formatter('%(message)s')).format(record('failed: %s', text,
                                                                                 error=ValueError(text)))
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
            logs.LineFormatter, logs.LineFormatter, logs.JsonFormatter, logs.OneLineFormatter]
    finally:
        logging.root.handlers[:] = kept


class Journal(logging.StreamHandler):
    """As oslo.log's handler of the systemd journal, whose library is not installed everywhere."""

    custom_fields = handlers.OSJournalHandler.custom_fields

    def emit(self, record):
        self.format(record)
        self.sent = {name: getattr(record, name) for name in self.custom_fields if getattr(record, name, None)}


@pytest.mark.parametrize('formatter', [None, formatters.ContextFormatter()])
def test_the_journal_gets_the_fields_of_the_context(conf, formatter):
    handler, logger = Journal(), logging.getLogger('heatlite.test_journal')
    handler.setFormatter(formatter)
    logger.addHandler(handler)
    try:
        logs.install(conf, 'heatlite')
        logger.error('m', extra={'context': RequestContext(project_id='p', user_id='u', request_id='req-1',
                                                           overwrite=False)})
    finally:
        logger.removeHandler(handler)
    assert handler.sent == {'project_id': 'p', 'user_id': 'u', 'request_id': 'req-1'}


def test_lines_carry_the_bound_context(conf):
    line = logs.LineFormatter(conf, 'x')
    context = RequestContext(request_id='req-1', project_id='p', user_id='u', global_request_id='req-g',
                             overwrite=False)
    bind(None)
    assert '[- - - -]' in line.format(record('m'))
    with context.bound():
        assert '[req-1 req-g u p]' in line.format(record('m'))
    assert '[- - - -]' in line.format(record('m'))


def test_lines_name_the_stack_once(conf):
    line = logs.LineFormatter(conf, 'x')
    with RequestContext(request_id='req-1', overwrite=False).bound(Subject('4f1', 'web')):
        assert line.format(record('m')).endswith('[req-1 - - -] [stack 4f1] m')
        assert line.format(record('Stack web [4f1] ends')).endswith('[req-1 - - -] Stack web [4f1] ends')
    assert '4f1' not in line.format(record('m'))


def test_json_lines_have_the_fields_that_are_known():
    def found():
        return {name: value for name, value in json.loads(logs.JsonFormatter().format(record('m'))).items()
                if name in logs.FIELDS}

    bind(None)
    assert found() == {}
    with RequestContext(request_id='req-1', project_id='p', overwrite=False).bound(Subject('4f1', 'web')):
        with working_on('server'):
            note(plan_id='0c2')
            assert found() == {'request_id': 'req-1', 'project_id': 'p', 'stack_id': '4f1', 'stack_name': 'web',
                               'resource_path': 'web/server', 'plan_id': '0c2'}
        assert found() == {'request_id': 'req-1', 'project_id': 'p', 'stack_id': '4f1', 'stack_name': 'web'}
    assert found() == {}


def test_a_line_of_another_context_is_not_about_the_subject_of_the_thread(conf):
    with RequestContext(overwrite=False).bound(Subject('4f1')):
        for context in (None, RequestContext(overwrite=False)):
            assert '4f1' not in logs.JsonFormatter().format(record('m', context=context))
            assert '4f1' not in logs.LineFormatter(conf, 'x').format(record('m', context=context))


@given(ANY_TEXT)
def test_names_cannot_forge_fields(text):
    with RequestContext(request_id='req-1', overwrite=False).bound(Subject('4f1', text, text, text)):
        line = logs.JsonFormatter().format(record('m'))
    pairs = json.loads(line, object_pairs_hook=list)
    assert [name for name, _value in pairs if name in logs.FIELDS] == [
        name for name in logs.FIELDS if name in dict(pairs)]
    assert dict(pairs)['stack_id'] == '4f1' and len(line.splitlines()) == 1


def test_a_context_made_aside_binds_nothing():
    from oslo_context import context as contexts
    bind(None)
    RequestContext(overwrite=False)
    assert contexts.get_current() is None


def test_lines_have_no_hidden_value_of_the_stack_that_the_thread_works_for(conf):
    def mask(text):
        return text.replace('secret', '******')

    def broken(text):
        raise KeyError('parameters')

    made = [logs.LineFormatter(conf, 'x'), logs.JsonFormatter(),
            logs.OneLineFormatter(logging.Formatter('%(message)s'))]
    try:
        raise ValueError('a secret')
    except ValueError as error:
        failed = record('%s failed', 'the secret', level=logging.ERROR, error=error)
        bind(None, mask=mask)
        for form in made:
            line = form.format(failed)
            assert '****** failed' in line and 'a ******' in line and 'secret' not in line
        hide(broken)
        assert all('secret' not in form.format(failed) for form in made)
    bind(None)
    assert 'secret' in made[0].format(failed)


def test_another_request_of_the_thread_hides_what_it_has_read_itself():
    hide(lambda text: text.replace('first', '******'))
    with RequestContext(overwrite=False).bound():
        assert masked('first second') == 'first second'
        hide(lambda text: text.replace('second', '******'))
        mask = mask_of_thread()
    assert (masked('first second'), mask('first second')) == ('****** second', 'first ******')


def test_of_many_stacks_the_first_and_the_last_are_hidden():
    for number in range(2 * MOST_MASKS):
        hide(lambda text, number=number: text.replace(f'[{number}]', '******'))
    assert masked(f'[0] [1] [{2 * MOST_MASKS - 1}]') == '****** [1] ******'


def test_no_other_thread_runs_while_a_line_is_made(conf):
    """Code logs between two statements that rely on that, and the line may be about the deadline itself."""
    def mask(text):
        turns.spend(100 * turns.EVERY)
        return text.replace('secret', '******')

    def late():
        raise exception.TooLate

    turned = []
    turns.use(lambda *owners: turned.append(owners))
    try:
        with RequestContext(overwrite=False).bound(mask=mask), turns.checked(late):
            line = logs.LineFormatter(conf, 'x').format(record('a secret', error=ValueError('secret')))
            assert line.count('******') >= 2 and 'secret' not in line and 'left out' not in line
            assert not turned
            with pytest.raises(exception.TooLate):          # after it, the request is checked as before
                turns.spend(turns.EVERY)
        turns.spend(turns.EVERY)
        assert len(turned) == 1
    finally:
        turns.use(None)


def test_masks_see_a_bounded_text(conf):
    seen = []
    error = ValueError('begin\n' + 'x\n' * (10 * logs.MASKED) + 'end')
    with RequestContext(overwrite=False).bound(mask=lambda text: seen.append(len(text)) or text):
        line = logs.LineFormatter(conf, 'x').format(record('%s', 'y' * (10 * logs.MASKED), error=error))
    assert seen and max(seen) <= logs.MASKED
    assert 'begin' in line and line.endswith('end')
