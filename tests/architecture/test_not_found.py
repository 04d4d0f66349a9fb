"""Where "not found" counts as the end of an object, only its own service is asked: neither a secret with a login, nor
another service, nor a client that has to log in first, whose "not found" would be taken for that of the object.

A guarded block is one whose errors go to `ignore_not_found` or one of its siblings. Methods of the same file that it
calls are part of it.
"""

import ast

from tests.architecture import source

GUARDS = frozenset({'ignore_not_found', 'ignore_conflict_and_not_found', 'is_not_found'})
# What looks up more than an object of the service that is meant: plug-ins by name, and clients that log in.
LOOK_UPS = frozenset({'client_plugin', 'heat', '_zaqar', 'elsewhere', 'create_for_tenant', 'stack_domain_user_token',
                      'get_secret_payload_by_ref', '_user_token'})
NAMED = frozenset({'client', 'adapter_of'})             # the same, if the name of another service is given
# Module and function -> why a look-up there is harmless.
LISTED = {}


def calls(node):
    """(name, call) of each call in a node."""
    for found in ast.walk(node):
        if isinstance(found, ast.Call):
            yield (found.func.attr if isinstance(found.func, ast.Attribute) else getattr(found.func, 'id', '')), found


def text(node):
    """The first argument of a call, if it is a literal text."""
    first = node.args[0] if node.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def guarded(function):
    """(body, guard) of each guarded block of a function, with the expression that leads to its guard."""
    for node in ast.walk(function):
        if isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.context_expr, ast.Attribute) and item.context_expr.attr in GUARDS:
                    yield node.body, item.context_expr
        elif isinstance(node, ast.Try):
            for handler in node.handlers:
                for found in ast.walk(handler):
                    if isinstance(found, ast.Attribute) and found.attr in GUARDS:
                        yield node.body, found


def service_of(guard, function):
    """The service of a guard: the name in `client_plugin('nova').ignore_not_found`; None: that of the type."""
    value = guard.value
    if isinstance(value, ast.Name):
        value = next((each.value for each in ast.walk(function) if isinstance(each, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == value.id for target in each.targets)), value)
    return text(value) if isinstance(value, ast.Call) else None


def default_of(tree):
    """Names of services that the types of a file have by default."""
    return {each.value.value for each in ast.walk(tree) if isinstance(each, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id in ('default_client_name', 'CLIENT_NAME') for target in each.targets)
        and isinstance(each.value, ast.Constant)}


def look_ups(body, methods, service, defaults, seen=()):
    """Names of the look-ups in a block, and in the methods of the file that it calls."""
    for statement in body:
        for name, call in calls(statement):
            if name in LOOK_UPS and not (name == 'client_plugin' and _is_same(text(call), service, defaults)):
                yield name
            elif name in NAMED and not _is_of_a_plugin(call) and not _is_same(text(call), service, defaults):
                yield f'{name}({text(call)})'
            elif name in methods and name not in seen and _is_own(call):
                yield from look_ups(methods[name].body, methods, service, defaults, (*seen, name))


def _is_same(asked, service, defaults):
    """Whether two names are one service; None: the default of the type."""
    return asked == service or {asked, service} <= {None, *defaults}


def _is_of_a_plugin(call):
    """Whether it is a method of a variable: the plug-in that the block has."""
    value = getattr(call.func, 'value', None)
    return isinstance(value, ast.Name) and value.id != 'self'


def _is_own(call):
    return isinstance(call.func, ast.Name) or (
        isinstance(call.func.value, ast.Name) and call.func.value.id in ('self', 'plugin'))


def of_source(text_of_file):
    """(function, look-up) of each look-up in a guarded block."""
    tree = ast.parse(text_of_file)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    methods = {each.name: each for each in functions}
    for function in functions:
        for body, guard in guarded(function):
            service = service_of(guard, function)
            for name in look_ups(body, methods, service, default_of(tree)):
                yield function.name, name


def test_a_guarded_block_asks_one_service_only():
    found = {f'{name}.{function}': look_up for package in ('heatlite/engine', 'contrib')
             for name, path in source.modules(package).items() if any(guard in path.read_text() for guard in GUARDS)
             for function, look_up in of_source(path.read_text())}
    assert {place: look_up for place, look_up in found.items() if place not in LISTED} == {}
    assert set(LISTED) <= set(found), 'these are listed, and harmless now'


HEAD = 'class A:\n    default_client_name = "heat"\n'


def test_the_rule_sees_what_is_not_allowed():
    wrong = {
        'a client that logs in': 'with self.client_plugin().ignore_not_found:\n'
                                 '            self.heat().stacks.delete(1)',
        'another service': "with self.client_plugin('nova').ignore_not_found:\n"
                           "            self.client('glance').get(1)",
        'in a method': 'with self.client_plugin().ignore_not_found:\n            self.other()',
        'in a try': 'try:\n            self.heat()\n        except Exception as error:\n'
                    '            self.client_plugin().ignore_not_found(error)'}
    for name, block in wrong.items():
        text_of_file = f'{HEAD}    def one(self):\n        {block}\n    def other(self):\n        self.heat()\n'
        assert len(list(of_source(text_of_file))) == 1, name
    right = "with self.client_plugin('nova').ignore_not_found:\n            self.client('nova').servers.delete(1)"
    assert list(of_source(f'{HEAD}    def one(self):\n        {right}\n')) == []
