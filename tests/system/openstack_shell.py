"""The `openstack` command again and again in one process: a new one costs seconds. JSON lines in, JSON lines out."""

import contextlib
import io
import json
import sys

from openstackclient import shell


def main():
    answers = sys.stdout
    for line in sys.stdin:
        said, complained = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
            code = shell.main(json.loads(line))
        print(json.dumps([code, said.getvalue(), complained.getvalue()]), file=answers, flush=True)


if __name__ == '__main__':
    main()
