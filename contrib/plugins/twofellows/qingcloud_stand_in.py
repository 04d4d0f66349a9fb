"""QingCloud's IaaS API over real HTTP, as far as the plug-in uses it: checks signatures, keeps state, takes its time.

What it knows is written in the provider's public documentation: the signature of a request, the words for states and
the codes of errors. It shares no code with the SDK.
"""

import base64
import contextlib
import datetime
import hashlib
import hmac
import json
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from oslo_config import cfg

KEY_ID, SECRET = 'QYACCESSKEYIDEXAMPLE', 'the-secret-that-is-never-sent'
PATIENCE = datetime.timedelta(seconds=60)
DENIED, NOT_FOUND, QUOTA, INTERNAL, BUSY = 1400, 2100, 2500, 5000, 5100


class Failure(Exception):
    """An answer with a ret_code."""

    def __init__(self, code, message):
        self.code, self.message = code, message


class Cloud:
    """What is there. Every change takes `turns` questions about the thing before it is done."""

    def __init__(self, turns=2, quota=10):
        self.turns, self.quota = turns, quota
        self.instances, self.keypairs, self.jobs = {}, {}, {}
        self.eips = {f'eip-{number}': {
            'eip_id': f'eip-{number}', 'eip_addr': f'203.0.113.{number + 6}', 'status': 'available',
            'transition_status': '', 'resource': {}} for number in (1, 2)}
        self.calls = []                     # (action, parameters), in order
        self.faults = []                    # (action, what); the first that fits hits, once
        self.held, self.go_on = threading.Event(), threading.Event()
        self._numbers = 0
        self._lock = threading.RLock()

    # --- for tests ----------------------------------------------------------------------------------------

    def fault(self, action, what):
        """The next `action`: a Failure instead; 'lost': done, not answered; 'hold': done, answered when told to."""
        self.faults.append((action, what))

    def said(self, *actions):
        return [action for action, _parameters in self.calls if action in actions or not actions]

    def alive(self):
        return [each for each in self.instances.values() if each['status'] not in ('terminated', 'ceased')]

    def things(self):
        """Servers, keys, what is put together."""
        alive = self.alive()
        return [('server', each['instance_id']) for each in alive] + [('key', each) for each in self.keypairs] + [
            ('key on server', each['instance_id'], key) for each in alive for key in each['keypair_ids']] + [
            ('address', each['eip_id']) for each in self.eips.values() if each['status'] == 'associated']

    def writes(self):
        return sum(not action.startswith('Describe') for action, _parameters in self.calls)

    # --- answering ----------------------------------------------------------------------------------------

    def answer(self, path, query):
        """(what is answered, the fault that hit)."""
        given = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        action = given.get('action', '')
        try:
            check_signature(path, given)
            with self._lock:
                self.calls.append((action, given))
                what = next((each for each in self.faults if each[0] == action), None)
                if what is not None:
                    self.faults.remove(what)
                    if isinstance(what[1], Failure):
                        raise what[1]
                answer = getattr(self, f'do_{action}')(given)
            return {'action': f'{action}Response', 'ret_code': 0, **answer}, what and what[1]
        except Failure as failure:
            return {'ret_code': failure.code, 'message': failure.message}, None

    def do_DescribeZones(self, given):
        return {'zone_set': [{'zone_id': 'pek3', 'status': 'active'}, {'zone_id': 'ap1', 'status': 'faulty'}]}

    def do_DescribeJobs(self, given):
        return {'job_set': [self.jobs[each] for each in listed(given, 'jobs') if each in self.jobs]}

    # instances

    def do_RunInstances(self, given):
        if len(self.alive()) >= self.quota:
            raise Failure(QUOTA, 'QuotaExceeded, you can not create more instances')
        if given['login_mode'] == 'passwd' and not re.search('[A-Z]', given['login_passwd']):
            raise Failure(1100, f'InvalidParameterValue, login_passwd [{given["login_passwd"]}] is too weak')
        if given['login_mode'] == 'keypair' and given['login_keypair'] not in self.keypairs:
            raise Failure(NOT_FOUND, f'ResourceNotFound, key pair [{given["login_keypair"]}] not found')
        cpu, memory = (int(given.get(name, 1)) for name in ('cpu', 'memory'))
        made = self._new('i', {
            'instance_name': given['instance_name'], 'description': '', 'status': 'pending', 'image': {
                'image_id': given['image_id']}, 'instance_type': given.get('instance_type', ''),
            'vcpus_current': cpu, 'memory_current': memory, 'eip': {},
            'keypair_ids': [given['login_keypair']] if given['login_mode'] == 'keypair' else [],
            'vxnets': [{'vxnet_id': 'vxnet-0', 'private_ip': f'10.0.0.{self._numbers + 10}'}]}, 'instance')
        self.instances[made['instance_id']] = made
        job = self._begin(made, 'creating', 'RunInstances', {'status': 'running'})
        return {'instances': [made['instance_id']], 'job_id': job}

    def do_DescribeInstances(self, given):
        return {'instance_set': self._found(self.instances, given, 'instance')}

    def do_TerminateInstances(self, given):
        return self._change(given, 'terminating', {'status': 'terminated', 'eip': {}, 'keypair_ids': []})

    def do_StopInstances(self, given):
        return self._change(given, 'stopping', {'status': 'stopped'}, wanted='running')

    def do_StartInstances(self, given):
        return self._change(given, 'starting', {'status': 'running'}, wanted='stopped')

    def do_ResizeInstances(self, given):
        size = {'vcpus_current': int(given['cpu']), 'memory_current': int(given['memory'])} if 'cpu' in given else {
            'instance_type': given['instance_type']}
        return self._change(given, 'resizing', size, wanted='stopped')

    def do_ModifyInstanceAttributes(self, given):
        self._instance(given['instance']).update(
            {name: given[name] for name in ('instance_name', 'description') if name in given})
        return {}

    # keys

    def do_CreateKeyPair(self, given):
        made = self._new('kp', {'keypair_name': given['keypair_name'],
                                'pub_key': given.get('public_key', 'ssh-rsa AAA')}, 'keypair')
        self.keypairs[made['keypair_id']] = made
        private = {'private_key': f'-----BEGIN {made["keypair_id"]}-----'} if given['mode'] == 'system' else {}
        return {'keypair_id': made['keypair_id'], **private}

    def do_DescribeKeyPairs(self, given):
        return {'keypair_set': self._found(self.keypairs, given, 'keypair')}

    def do_ModifyKeyPairAttributes(self, given):
        self.keypairs[given['keypair']]['keypair_name'] = given['keypair_name']
        return {}

    def do_DeleteKeyPairs(self, given):
        for keypair in listed(given, 'keypairs'):
            if keypair not in self.keypairs:
                raise Failure(NOT_FOUND, f'ResourceNotFound, key pair [{keypair}] not found')
            if any(keypair in each['keypair_ids'] for each in self.instances.values()):
                raise Failure(DENIED, f'PermissionDenied, key pair [{keypair}] is in use')
            del self.keypairs[keypair]
        return {}

    def do_AttachKeyPairs(self, given):
        there = self._instance(given['instances.1'])['keypair_ids']
        return self._change(given, 'attaching', {'keypair_ids': sorted({*there, *listed(given, 'keypairs')})})

    def do_DetachKeyPairs(self, given):
        there = self._instance(given['instances.1'])['keypair_ids']
        return self._change(given, 'detaching', {'keypair_ids': sorted({*there} - {*listed(given, 'keypairs')})})

    # addresses

    def do_DescribeEips(self, given):
        return {'eip_set': self._found(self.eips, given, 'eip')}

    def do_AssociateEip(self, given):
        eip, instance = self.eips[given['eip']], self._instance(given['instance'])
        if eip['status'] != 'available':
            raise Failure(DENIED, f'PermissionDenied, eip [{eip["eip_id"]}] is {eip["status"]}')
        instance['eip'] = {'eip_id': eip['eip_id'], 'eip_addr': eip['eip_addr']}
        return {'job_id': self._begin(eip, 'associating', 'AssociateEip', {
            'status': 'associated', 'resource': {'resource_id': given['instance']}})}

    def do_DissociateEips(self, given):
        eip = self.eips[given['eips.1']]
        self.instances[eip['resource']['resource_id']]['eip'] = {}
        return {'job_id': self._begin(eip, 'dissociating', 'DissociateEips', {'status': 'available', 'resource': {}})}

    # --- state --------------------------------------------------------------------------------------------

    def _new(self, prefix, fields, kind):
        self._numbers += 1
        return {f'{kind}_id': f'{prefix}-{self._numbers:08}', 'transition_status': '', **fields}

    def _instance(self, name):
        if name not in self.instances:
            raise Failure(NOT_FOUND, f'ResourceNotFound, instance [{name}] not found')
        return self.instances[name]

    def _change(self, given, transition, after, wanted=None):
        instance = self._instance(given['instances.1'])
        if instance['transition_status']:
            raise Failure(DENIED, f'PermissionDenied, resource [{instance["instance_id"]}] lease info not ready yet, '
                                  'please try later')
        if wanted not in (None, instance['status']):
            raise Failure(DENIED, f'PermissionDenied, instance [{instance["instance_id"]}] is {instance["status"]}')
        return {'job_id': self._begin(instance, transition, given['action'], after)}

    def _begin(self, thing, transition, action, after):
        self._numbers += 1
        job = {'job_id': f'j-{self._numbers}', 'job_action': action, 'status': 'working'}
        self.jobs[job['job_id']] = job
        thing.update(transition_status=transition, left=self.turns, after=after, job=job)
        return job['job_id']

    def _found(self, things, given, kind):
        """The things asked for, by id, name and status. Whoever asks moves what is under way one turn on."""
        ids, statuses, word = listed(given, f'{kind}s'), listed(given, 'status'), given.get('search_word', '')
        found = [each for key, each in things.items() if (not ids or key in ids)
                 and (not statuses or each['status'] in statuses) and word in each.get(f'{kind}_name', key)]
        for thing in found:
            if thing['transition_status']:
                thing['left'] -= 1
                if thing['left'] < 0:
                    thing.update(thing['after'], transition_status='')
                    thing['job']['status'] = 'successful'
        return [{name: value for name, value in each.items() if name not in ('left', 'after', 'job')}
                for each in found]


def listed(given, name):
    """`name.1`, `name.2` ..."""
    return [value for key, value in given.items() if re.fullmatch(rf'{name}\.\d+', key)]


def signature(path, given):
    """Of a GET with these parameters."""
    text = '&'.join(f'{urllib.parse.quote(key, safe="")}={urllib.parse.quote(given[key], safe="-_.~")}'
                    for key in sorted(given))
    return base64.b64encode(
        hmac.new(SECRET.encode(), f'GET\n{path}\n{text}'.encode(), hashlib.sha256).digest()).decode()


def check_signature(path, given):
    """Raises Failure as the documentation says: unknown key or wrong signature 1200, old 1300."""
    given = dict(given)
    theirs = given.pop('signature', '')
    known = (given.get('access_key_id'), given.get('signature_method'), given.get('signature_version')) == (
        KEY_ID, 'HmacSHA256', '1')
    if not (known and hmac.compare_digest(theirs.encode(), signature(path, given).encode())):
        raise Failure(1200, 'AuthFailure, signature not matched')
    stamp = datetime.datetime.strptime(given['time_stamp'], '%Y-%m-%dT%H:%M:%SZ').replace(tzinfo=datetime.UTC)
    if abs(datetime.datetime.now(datetime.UTC) - stamp) > PATIENCE:
        raise Failure(1300, 'RequestHasExpired')


@contextlib.contextmanager
def running(**settings):
    """A Cloud with its `url`."""
    cloud = Cloud(**settings)

    class Door(BaseHTTPRequestHandler):
        def do_GET(self):
            path, _mark, query = self.path.partition('?')
            answer, fault = cloud.answer(path, query)
            if fault == 'hold':
                cloud.held.set()
                cloud.go_on.wait(60)
            if fault in ('hold', 'lost'):
                self.close_connection = True
                return
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Door)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    cloud.url = f'http://127.0.0.1:{server.server_port}/iaas/'
    try:
        yield cloud
    finally:
        cloud.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def for_conformance():
    """As the kit wants it: the plug-in is told where the cloud is."""
    with running(quota=100) as cloud:
        cfg.CONF.set_override('auth_encryption_key', 'k' * 32)      # for the private keys
        for name, value in {'endpoint': cloud.url, 'access_key_id': KEY_ID, 'secret_access_key': SECRET,
                            'zone': 'pek3'}.items():
            cfg.CONF.set_override(name, value, group='twofellows')
        yield cloud
