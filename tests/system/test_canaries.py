"""No secret leaves the place it was given to: looked for in everything that is stored, logged, sent and answered."""

import itertools
import os
import re
import stat

import pytest

from heatlite.api import openapi, routes
from heatlite.api.cfn import application as cfn
from heatlite.api.cloudwatch import application as cloudwatch
from tests.system import production
from tests.system.canaries.life import GENERATED, OF_A_CLOUD, READERS, Life
from tests.system.canaries.places import Clustered, Embedded
from tests.system.canaries.search import Search
from tests.system.canaries.template import FIRST, HOOK, PREVIEWED, SECOND, SIGNALLED, WRONG

pytestmark = pytest.mark.random_order(disabled=True)         # a sequence: one of its tests ends the service

WRITTEN_BY_THE_AUTHOR = {'hidden default', 'hidden default of a file'}

# (kinds, page, reason): what may be seen, and why.
VISIBLE_IN_ANSWERS = [
    (WRITTEN_BY_THE_AUTHOR, '/template', 'the text of the template itself, as its author wrote it; as Heat'),
    (WRITTEN_BY_THE_AUTHOR, 'GetTemplate', 'the text of the template itself, as its author wrote it; as Heat'),
    (WRITTEN_BY_THE_AUTHOR, '/files', 'the text of the files, as their author wrote them; as Heat'),
    (WRITTEN_BY_THE_AUTHOR, '/snapshot', 'a snapshot holds the template and the files'),
    (WRITTEN_BY_THE_AUTHOR, '/snapshots', 'a snapshot holds the template and the files'),
    (WRITTEN_BY_THE_AUTHOR, '/export', 'an export holds the template and the files'),
    ({'hidden default of a file'}, '/revision diff', 'the text of the files, as their author wrote them'),
    ({*SECOND, *PREVIEWED, *HOOK, 'hidden default', 'hidden default of a file'}, '/validate',
     'tells the caller what it has just sent itself; forms are filled from it; as Heat'),
    *(({'signal'}, page, 'what a signal brought is there to be read; as Heat')
      for page in ('/metadata', '/snapshot', '/snapshots', '/export', 'DescribeStackResource')),
    *(({'generated string'}, page, 'an output shows what the template says it shows; as Heat')
      for page in ('/stack', '/output', 'DescribeStacks')),
    ({'hidden string'}, '/software', 'input values that a template gives to a deployment are shown; as Heat'),
    ({*GENERATED, *OF_A_CLOUD}, '/resource', 'the attributes of a resource are where clients fetch them; as Heat'),
]
# The same for members, beside it.
VISIBLE_TO_MEMBERS = [
    ({'signed URL of a policy', *HOOK}, 'DescribeAlarms', 'members see what gives access to something'),
    ({'signed URL of a policy', *HOOK}, 'DescribeAlarmsForMetric', 'members see what gives access to something'),
    ({'login of a deployment'}, '/software', 'members see what gives access to something')]
# What no reader visits, and why.
UNVISITED = {
    'event_streams.of_project': 'it does not end; what it shows are the rows of /events',
    'event_streams.of_stack': 'it does not end; what it shows are the rows of /events',
    'stack_sets.show': 'there is none', 'stack_sets.members': 'there is none', 'stack_sets.operations': 'there is none',
    'stack_sets.operation': 'there is none', 'stack_sets.drift': 'there is none',
    'services.index': 'of engines', 'services.load': 'of engines', 'services.build_info': 'of the release',
    'versions.show': 'of the release', 'resource_types.index': 'of the release',
    'resource_types.show': 'of the release', 'resource_types.template': 'of the release',
    'template_versions.index': 'of the release',
    'template_versions.functions': 'of the release', 'constraints.values': 'of the cloud',
    'stacks.lookup': 'a redirect to another page'}
UNVISITED_ACTIONS = {'ValidateTemplate': 'tells the caller what it has just sent itself',
                     'EstimateTemplateCost': 'always the same'}

# Without encrypt_parameters_and_properties what users write is stored as they wrote it; what is secret by nature and
# everything derived is sealed all the same. As Heat, which stores hidden parameters in clear then.
VISIBLE_IN_CLEAR_STORAGE = {('template', 'environment'), ('template', 'document'), ('files', 'content')}
USERS_WROTE = {*FIRST, *SECOND, *WRONG, *HOOK}


@pytest.fixture(scope='module', params=['heatlite-all', 'heatlite-all, all sealed', 'cluster', 'cluster, all sealed'])
def lived(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp('canaries')
    option = {'encrypt_parameters_and_properties': 'true' if 'all sealed' in request.param else 'false'}
    if 'cluster' in request.param:
        if not production.is_possible():
            pytest.skip(production.REASON)
        place = Clustered(folder, **option)
    else:
        place = Embedded(folder, **option)
    place.all_sealed = 'all sealed' in request.param
    try:
        life = Life(place)
        life.path = life.live()
        yield life
    finally:
        place.close()


@pytest.fixture(scope='module')
def search(lived):
    chosen = {kind: [text] for kind, text in (
        *FIRST.items(), *SECOND.items(), *PREVIEWED.items(), *WRONG.items(), *SIGNALLED.items(), *HOOK.items())}
    found = {**chosen, **{kind: sorted(texts) for kind, texts in lived.secrets.items()},
             **{kind: [text] for kind, text in lived.place.known.items()},
             **{f'token of the {who}': [token] for who, token in lived.place.tokens.items()}}
    assert len(found) >= 20
    return Search(found)


def test_answers(lived, search):
    found = {(kind, page, who) for who, page, _path, text in lived.answers for kind in search.kinds(text)}
    allowed = {(kind, page, who) for kinds, page, _reason in VISIBLE_IN_ANSWERS for kind in kinds for who in READERS}
    allowed |= {(kind, page, 'member') for kinds, page, _reason in VISIBLE_TO_MEMBERS for kind in kinds}
    assert not found - allowed, sorted(found - allowed)
    for kinds, page, _reason in VISIBLE_IN_ANSWERS + VISIBLE_TO_MEMBERS:
        if not lived.place.is_simulated and (kinds, page) == ({'hidden string'}, '/software'):
            continue                                # without a server the template has no deployment
        assert any(kind in kinds and seen == page for kind, seen, _who in found), f'{page} shows nothing of {kinds}'


@pytest.mark.parametrize('who', READERS)
def test_all_that_can_be_read_is_visited(lived, who):
    paths = {path.partition('?')[0] for each, path in lived.visited if each == who}
    patterns = [(re.compile(re.sub(r'{(\w+):([^}]*)}', r'(?:\2)', re.sub(r'{\w+}', '[^/]+', route.path))), route)
                for route in routes.TABLE if route.method == 'GET']
    visited = {next((openapi.name_of(route) for pattern, route in patterns if pattern.fullmatch(f'/p{path}')), None)
               for path in paths}
    assert {openapi.name_of(route) for _pattern, route in patterns} - visited == set(UNVISITED)
    pages = {page for each, page, _path, _text in lived.answers if each == who}
    reads = {name for name in (*cfn.ACTIONS, *cloudwatch.ACTIONS)
             if name.startswith(('Describe', 'Get', 'List', 'Validate', 'Estimate'))}
    assert reads - pages == set(UNVISITED_ACTIONS)


def test_database(lived, search):
    found = {(kind, table, column) for table, column, text in lived.place.columns() for kind in search.kinds(text)}
    if not lived.place.all_sealed:
        found = {each for each in found
                 if each[0] not in USERS_WROTE or each[1:] not in VISIBLE_IN_CLEAR_STORAGE}
    assert sorted(found) == []


def test_logs(lived, search):
    found = {(kind, log.name, line[:300]) for log in lived.place.logs()
             for line in log.read_text(errors='replace').splitlines() for kind in search.kinds(line)}
    assert found == set()


def test_figures_and_notifications(lived, search):
    assert search.kinds(lived.place.figures()) == set()
    assert search.kinds(lived.place.notifications()) == set()
    if isinstance(lived.place, Clustered):
        assert 'orchestration.stack.update.end' in lived.place.notifications()


def test_files_after_the_end(lived, search):
    """Last: stops heatlite-all. Its files are for its user alone, and one of them holds everything."""
    place = lived.place
    if not isinstance(place, Embedded):
        pytest.skip('a database server keeps its own files')
    open_files = list(place.state.glob('heatlite.sqlite*'))
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in open_files} == {0o600}
    assert place.stop() == 0
    log = (place.state / 'heatlite.sqlite-wal')
    assert not log.exists() or log.stat().st_size == 0
    content = b''.join(path.read_bytes() for path in place.state.glob('heatlite.sqlite*'))
    kinds = search.kinds(content)
    assert (kinds if place.all_sealed else kinds - USERS_WROTE) == set()
    assert list(itertools.islice(place.state.glob('heatlite.sqlite'), 1))
