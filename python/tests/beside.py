"""Programs, threads and servers beside a test."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "clients" / "javascript" / "test"


def printed(program, *arguments, seconds=300, **environment):
    """What a program of Python prints, which ends well and without a word of an error."""
    words = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
    variables = os.environ | environment
    done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=seconds, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def told_by_node(script, *arguments, meanwhile=None):
    """What a script of clients/javascript/test tells in JSON. Where something is to be done meanwhile, it is
    ready for that first."""
    words = ["node", str(SCRIPTS / script), *map(str, arguments)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words, text=True, **pipes) as node:
        try:
            if meanwhile is not None:
                assert node.stderr is not None
                first = node.stderr.readline()
                assert first == "ready\n", first + node.stderr.read()
                meanwhile()
            told, why = node.communicate("go\n", timeout=300)
        finally:
            node.kill()
    assert node.returncode == 0, why
    return json.loads(told)


def together(*works, seconds=300):
    """Does works in a thread each, and waits for their ends."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive()


@contextlib.contextmanager
def answering(server):
    """The address of a server that answers in a thread of its own."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(20)
