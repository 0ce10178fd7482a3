"""`python -m hemera` without its second of imports: each is a child of one process that has done them."""

import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

SOURCE = """
import json, os, runpy, signal, socket, sys
import hemera.commands.serve, hemera.serving.server

channel = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    asked, (errors, told), *_ = socket.recv_fds(channel, 1 << 20, 2)
    if os.fork() == 0:
        break
    os.close(errors), os.close(told)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
words, environment, folder = json.loads(asked)
if child := os.fork():  # a keeper of the child, which tells its process, and how it ends
    os.close(errors), os.write(told, b"%d " % child)
    os.write(told, b"%d " % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)
channel.close(), os.close(told), os.dup2(errors, 2), os.close(errors), os.chdir(folder)
os.environ.clear(), os.environ.update(environment)
sys.argv[1:] = words
runpy.run_module("hemera", run_name="__main__", alter_sys=True)
"""


@functools.cache
def _channel():
    own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = [sys.executable, "-W", "ignore", "-c", SOURCE, str(other.fileno())]
    subprocess.Popen(words, pass_fds=[other.fileno()], stderr=subprocess.DEVNULL)  # ends with the channel
    other.close()
    return own


class Warm:
    """What tests use of `subprocess.Popen`, with the errors as a text."""

    def __init__(self, words, environment):
        errors, told = os.pipe(), os.pipe()
        asked = json.dumps([words, dict(environment), str(Path.cwd())]).encode()
        socket.send_fds(_channel(), [asked], [errors[1], told[1]])
        os.close(errors[1]), os.close(told[1])
        self.stderr, self._told = os.fdopen(errors[0]), os.fdopen(told[0], "rb", buffering=0)
        self.pid = int(self._told.read(100))
        self.returncode = None

    def poll(self, timeout=0):
        """The exit status, or minus the signal, of a process that has ended."""
        if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
            self.returncode = int(self._told.read(100))
            self._told.close()
        return self.returncode

    def wait(self, timeout):
        found = self.poll(timeout)
        assert found is not None, "it has not ended"
        return found

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)
