"""What tests of forked processes share."""

import os
import signal
import threading
import traceback
import warnings

SECONDS = 20
"""After which a child that waits counts as hanging."""


def in_child(work):
    """What a forked child gives, or how it failed; "hangs" after some seconds."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, of forks beside threads
        pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(SECONDS)
            text = repr(work())
        except BaseException:
            text = traceback.format_exc()
        with os.fdopen(writing, "wb") as answer:
            answer.write(text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        found = answer.read().decode()
    return found if os.waitpid(pid, 0)[1] == 0 else "hangs"


def taken_elsewhere(lock):
    """Another thread takes a lock; the function lets it go."""
    taken, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            done.wait(SECONDS)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(SECONDS)

    def end():
        done.set()
        thread.join()

    return end
