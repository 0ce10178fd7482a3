"""Python code that runs in a child process whose memory the operating system limits."""

import resource
import subprocess
import sys
import textwrap
from pathlib import Path

MIB = 1 << 20


def limit_growth(size):
    """Let this process's address space grow by so many bytes, and no more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + size
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def run_within(mebibytes, code, *arguments):
    """What code prints in a child whose memory grows by so many MiB after `hemera` was imported, or the name
    and text of the exception that it raises. `sys.argv[1:]` are the arguments."""
    program = textwrap.dedent(
        f"""
        import os, sys, warnings
        warnings.simplefilter("ignore")
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import numpy as np
        import hemera as hm
        import hemera.search, hemera.serving, hemera.commands.inspect
        from limited_memory import limit_growth
        limit_growth({mebibytes * MIB})
        try:
            exec({textwrap.dedent(code)!r})
        except BaseException as error:
            print(type(error).__name__ + ":", error)
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()
