"""An outage of the database is no error of a resource, a template or a plug-in: what catches any error lets it through.

`except Exception` stands behind a handler of DatabaseUnavailable, raises the error again, or belongs to a function that
is listed here with the reason.

What drives stacks waits for the database (`Database.retry_until_available`): a runner that ends loses the results of
its calls under way. Each function of `engine.reconcile` that reads or writes without waiting is listed, too.
"""

import ast

import pytest

from tests.architecture import source

OUTAGE = 'DatabaseUnavailable'
# Package -> module and function -> why an outage may end there like any other error.
LISTED = {
    'engine.alarms': {
        'metric_writer._write': 'each request that waits for the batch gets the error'},
    'engine.observe': {},
    'engine.reconcile': {
        'authority.delete_trust': 'calls the identity service only',
        'authority.delete_project': 'calls the identity service only',
        'authority.is_dead': 'calls the identity service only',
        'diff._readable': 'converts a value by its schema',
        'step_inspector.is_plainly_unchanged': 'the inspection meets the error again',
        'implicit_dependencies.complete': 'works on a draft without a database',
        'outputs.reads': 'parses an expression',
        'signal_dispatcher._in_words': 'puts an error into words',
        'step_contexts._whole_name': 'asks a type for a name',
        'step_failures._may_retry': 'classifies an error',
        'unknowns.find': 'asks a type about values'},
    'engine.requests': {
        'dry_run._refers_by_id': 'what a preview cannot read is unknown',
        'offline_types._refused': 'works on a draft without a database',
        'preview_create._inside': 'what a preview cannot read is unknown',
        'preview_update._read_future_state': 'what a preview cannot read is unknown',
        'questions.ask': 'what a service is asked has no answer then',
        'server_metadata._push': 'the next change pushes the metadata again'},
    'takeover': {
        'completion._asked': 'asks types about rows in memory',
        'completion._referring': 'evaluates functions about rows in memory',
        'completion._static': 'evaluates functions without rows'},
}
IN_POOL = 'a type asks: its call is made again, by StepCalls or SignalDispatcher, and StepStore waits for definitions'
REQUEST = 'for a request, whose sender asks another engine'
LOADS = 'before there is a runner: a sweep loads the stack again'
# Module and function -> why it does not wait for the database.
IMPATIENT = {
    'clean_up.after_action': 'tidies up after the next action',
    'controller.wake': 'a hint, or for a request',
    'controller.wake_signalled': 'the next sweep looks again',
    'former_owners.delete_trusts': 'tidies up after the next action',
    'loading._held': LOADS,
    'loading.load': LOADS,
    'nesting._files': IN_POOL,
    'nesting._is_own': IN_POOL,
    'nesting._secrets': IN_POOL,
    'nesting.find': IN_POOL,
    'nesting.members': IN_POOL,
    'nesting.row': IN_POOL,
    'nesting.set_user_project': IN_POOL,
    'nesting.template': IN_POOL,
    'nesting.user_project': IN_POOL,
    'projects._keep': IN_POOL,
    'projects._present': IN_POOL,
    'projects.of': IN_POOL,
    'settled.has': IN_POOL,
    'stack_reader._guarded': REQUEST,
    'stack_reader._runner': REQUEST,
    'stack_reader.outputs': REQUEST,
    'given_up_stacks.fail': LOADS,
    'given_up_stacks.give_up': LOADS,
    'stack_loader._queue_unknown': 'to load the stacks fails as well, and gives their leases back',
    'stack_loader._release': 'the lease runs out',
    'unloadable._is_ended': LOADS,
}


def names(handler):
    """The classes that a handler catches, without their modules; of one without a class, BaseException."""
    match handler.type:
        case None:
            return {'BaseException'}
        case ast.Tuple(elts=kinds):
            return {ast.unparse(each).rpartition('.')[2] for each in kinds}
        case kind:
            return {ast.unparse(kind).rpartition('.')[2]}


def ending(node, function=''):
    """Names of the functions in which a handler of any error ends an outage."""
    if isinstance(node, ast.FunctionDef):
        function = node.name
    if isinstance(node, ast.Try):
        caught = set()
        for handler in node.handlers:
            if (names(handler) & {'Exception', 'BaseException'} and OUTAGE not in caught
                    and not any(isinstance(each, ast.Raise) for each in ast.walk(handler))):
                yield function
            caught |= names(handler)
    for child in ast.iter_child_nodes(node):
        yield from ending(child, function)


@pytest.mark.parametrize('handlers, found', [
    ('except Exception:\n  pass', ['f']),
    ('except:\n  pass', ['f']),
    ('except (KeyError, Exception):\n  pass', ['f']),
    ('except KeyError:\n  pass', []),
    ('except exception.DatabaseUnavailable:\n  raise\n except Exception:\n  pass', []),
    ('except (LeaseLost, exception.DatabaseUnavailable):\n  raise\n except Exception:\n  pass', []),
    ('except Exception:\n  pass\n except exception.DatabaseUnavailable:\n  raise', ['f']),
    ('except Exception as error:\n  if x(error):\n   raise', []),
])
def test_which_handlers_end_an_outage(handlers, found):
    assert list(ending(ast.parse(f'def f():\n try:\n  g()\n {handlers}'))) == found


@pytest.mark.parametrize('package', LISTED)
def test_outages_pass_handlers_of_any_error(package):
    found = {f'{path.stem}.{function}' for path in source.modules(f'heatlite/{package.replace(".", "/")}').values()
             for function in ending(ast.parse(path.read_text()))}
    assert found == set(LISTED[package])


def impatient(node, function=''):
    """Names of the functions that use the database once, or until no other transaction is in the way."""
    if isinstance(node, ast.FunctionDef):
        function = node.name
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr='_database') | ast.Name(id='database'),
                                         attr='reader' | 'writer' | 'retry')):
            yield function
    for child in ast.iter_child_nodes(node):
        yield from impatient(child, function)


@pytest.mark.parametrize('call, found', [
    ('with self._database.reader() as tx:\n  pass', ['f']),
    ('database.retry(g)', ['f']),
    ('self._database.retry_until_available(g)', []),
    ('self._traversal.retry(g)', []),
])
def test_which_functions_do_not_wait(call, found):
    assert list(impatient(ast.parse(f'def f():\n {call}'))) == found


def test_what_drives_stacks_waits_for_the_database():
    found = {f'{path.stem}.{function}' for path in source.modules('heatlite/engine/reconcile').values()
             for function in impatient(ast.parse(path.read_text()))}
    assert found == set(IMPATIENT)
