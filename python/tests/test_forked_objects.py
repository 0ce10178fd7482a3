"""No class of the package keeps a connection, seed, counter or lock that a forked child goes on with."""

import ast
import functools
from pathlib import Path

import pytest

import hemera

ROOT = Path(hemera.__file__).parent

OF_ONE_PROCESS = {
    # Locks, and what waits.
    *(
        f"threading.{name}"
        for name in ("Lock", "RLock", "Condition", "Event", "Semaphore", "BoundedSemaphore")
    ),
    *("threading.Barrier", "threading.Thread", "queue.Queue", "queue.SimpleQueue", "queue.LifoQueue"),
    *("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.Executor", "functools.cached_property"),
    *("asyncio.Lock", "asyncio.Event", "asyncio.Condition", "asyncio.Semaphore", "asyncio.Queue"),
    # Connections.
    *("httpx.Client", "httpx.AsyncClient", "socket.socket", "socket.create_connection", "socket.socketpair"),
    *("http.client.HTTPConnection", "http.client.HTTPSConnection", "multiprocessing.Pipe"),
    # Seeds and counters.
    *("itertools.count", "random.Random", "numpy.random.default_rng", "numpy.random.Generator"),
    *(
        "secrets.token_bytes",
        "secrets.token_hex",
        "secrets.randbits",
        "os.urandom",
        "os.getpid",
        "uuid.uuid4",
    ),
}
"""Makers and types of objects that must not go on in two processes."""
COUNTER = "a counter"

SERVER = "of a server's process, whose threads a child of fork() lacks: nothing is served there"
POOL = "of a pool, which refuses all calls in a child of fork()"
RAY = "of a server with replicas, or of a replica: processes of their own, that do not fork"
BUILDS = "counts while one thing is built, by one call"
BUILDERS = ("arrays.", "circuits.", "compiler.", "trees.")
"""Rooms that record and build programs: what they count is of one call."""
REASONS = {
    "_process": "the helper itself",
    "client.key_file.KeyFile": "refuses in a child of fork(), which makes a file of its own",
    "integers.arrangement._Rotated.count": BUILDS,
    "integers.bounded._numbers": "numbers the events of values in one memory; they are in no file",
    "integers.recorded._Recording._count": BUILDS,
    "integers.noise._draws": "numbers the roundings of values in one memory; they are in no file",
    "multiparty.keys.Contribution.nonce": "of a dict that each process has for itself",
    "objects.graph.Graph._memory": "bytes of this process's memory",
    "pool.members._Run._done": POOL,
    "pool.members._Run._ended": POOL,
    "pool.members.Team._queues": POOL,
    "pool.members.Team._threads": POOL,
    "pool.members._Queue": POOL,
    "ray": RAY,
    "search.index.Index._version": "of the rows in this memory, as they were changed here",
    "serving.admission": SERVER,
    "serving.evaluation": SERVER,
    "serving.federations": SERVER,
    "serving.connections": SERVER,
    "serving.routes": SERVER,
    "serving.scheduler": SERVER,
    "serving.session_cache": SERVER,
    "serving.store": SERVER,
    "program.stored_arrays.Room._taken": BUILDS,
    "serving.uploads": SERVER,
    "program.expected_noise.ExpectedNoise._random": "made for each estimate of errors, of a seed: no secret",
}
"""Where such a member may be, by module, class or member: why."""


class _Found(ast.NodeVisitor):
    """The places of a module that keep such an object: `Class.member`, or a name of the module."""

    def __init__(self, tree):
        self.places: list[tuple[str, str]] = []
        self._names: dict[str, str] = {}  # of the module, to what they are in full
        self._inside: list[str] = []
        self._arguments: dict[str, str] = {}
        self._in_function = 0
        self._notes_process = [False]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for each in node.names:
                    self._names[each.asname or each.name.partition(".")[0]] = (
                        each.name if each.asname else each.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    self._names[each.asname or each.name] = f"{node.module}.{each.name}"
        self.visit(tree)

    def _full(self, node):
        """The whole name of a dotted expression; "" of another one."""
        if isinstance(node, ast.Attribute):
            before = self._full(node.value)
            return f"{before}.{node.attr}" if before else ""
        return self._names.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    def _named(self, node):
        """Members of the list that an expression makes, names or is annotated with. What is handed to the
        helper, or is inside of a function, is not made here."""
        if node is None:
            return []
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return self._named(ast.parse(node.value, mode="eval").body)
            except SyntaxError:
                return []
        if isinstance(node, ast.Call) and self._full(node.func).startswith("hemera._process."):
            return []
        if isinstance(node, ast.Subscript) and self._full(node.value).startswith("hemera._process."):
            return []
        full = self._full(node)
        if full:
            return [name for name in OF_ONE_PROCESS if full == name or full.endswith(f".{name}")] or (
                [self._arguments[full]] if full in self._arguments else []
            )
        return [found for child in ast.iter_child_nodes(node) for found in self._named(child)]

    def _note(self, name, *nodes):
        for each in nodes:
            for found in self._named(each):
                self.places.append((".".join([*self._inside, name]), found))

    def visit_AugAssign(self, node):
        is_of_lists = any(isinstance(each, ast.List) for each in ast.walk(node.value))
        if isinstance(node.op, (ast.Add, ast.Sub)) and not is_of_lists:
            self._count(node.target)

    def _count(self, target):
        """A member that counts; a class that notes its process knows what it does."""
        of_self = isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
        if of_self and not self._notes_process[-1]:
            self.places.append((".".join([*self._inside, ast.unparse(target)[5:]]), COUNTER))

    def visit_ClassDef(self, node):
        makes = (self._full(each.func) for each in ast.walk(node) if isinstance(each, ast.Call))
        self._notes_process.append("hemera._process.Process" in makes)
        self._inside.append(node.name)
        for decorated in node.body:
            if isinstance(decorated, ast.FunctionDef):
                self._note(decorated.name, *decorated.decorator_list)
        self.generic_visit(node)
        self._inside.pop()
        self._notes_process.pop()

    def visit_FunctionDef(self, node):
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        before = self._arguments
        kept = {each.arg: self._named(each.annotation) for each in every}
        self._arguments = {name: found[0] for name, found in kept.items() if found}
        self._in_function += 1
        self.generic_visit(node)
        self._in_function -= 1
        self._arguments = before

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  # as ast calls it

    def _target(self, target, *values):
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            if target.value.id == "self":
                self._note(target.attr, *values)
        elif isinstance(target, ast.Name) and not self._in_function:
            self._note(target.id, *values)
        elif isinstance(target, ast.Tuple):
            for each in target.elts:
                self._target(each, *values)

    def visit_Assign(self, node):
        for target in node.targets:
            self._target(target, node.value)
            name = ast.unparse(target)
            if name.endswith("count") and name in ast.unparse(node.value):
                self._count(target)

    def visit_AnnAssign(self, node):
        self._target(node.target, node.annotation, node.value)


def _places_of(source, module):
    found = _Found(ast.parse(source)).places
    return {f"{module}.{place}" if module else place: what for place, what in found}


def _is_excused(place):
    words = place.split(".")
    return any(".".join(words[:count]) in REASONS for count in range(1, len(words) + 1))


@functools.cache
def _all_places():
    places = {}
    for path in sorted(ROOT.rglob("*.py")):
        names = path.relative_to(ROOT).with_suffix("").parts
        module = ".".join(names[:-1] if names[-1] == "__init__" else names)
        found = _places_of(path.read_text(encoding="utf-8"), module)
        is_builder = module.startswith(BUILDERS)
        places.update({at: what for at, what in found.items() if what != COUNTER or not is_builder})
    return places


def test_no_class_keeps_what_is_of_one_process_but_by_the_helper():
    missing = {place: what for place, what in _all_places().items() if not _is_excused(place)}
    assert not missing, (
        "these go on in a child of fork(): hold them by hemera._process (Lock, OfProcess, Process, "
        f"cached_property), or give a reason in REASONS: {missing}"
    )


def test_each_reason_is_for_a_member_that_is_there():
    places = _all_places()
    for reason in REASONS:
        assert reason == "_process" or any(f"{place}.".startswith(f"{reason}.") for place in places), reason


@pytest.mark.parametrize(
    ("program", "place"),
    [
        ("import threading\nclass A:\n  def f(self):\n    self.x = threading.RLock()", "A.x"),
        (
            "from threading import Lock as L\nclass A:\n  def f(self):\n    self.x = [L() for _ in 'ab']",
            "A.x",
        ),
        ("import threading as t\nclass A:\n  x = t.Lock()", "A.x"),
        ("from dataclasses import field\nfrom queue import Queue\nclass A:\n  x: Queue = field()", "A.x"),
        ("import itertools\nclass A:\n  def f(self):\n    self.x, self.y = 1, itertools.count()", "A.y"),
        ("import socket\nclass A:\n  def f(self, y: socket.socket):\n    self.x = y", "A.x"),
        ("import httpx\nclass A:\n  class B:\n    def f(self):\n      self.x: 'httpx.Client' = g()", "A.B.x"),
        ("import secrets\nx = secrets.token_bytes(32)", "x"),
        ("import functools\nclass A:\n  @functools.cached_property\n  def x(self): return 1", "A.x"),
        ("class A:\n  def f(self):\n    self.x += 1", "A.x"),
        ("class A:\n  def f(self, n):\n    self._count = g(self._count, n)", "A._count"),
    ],
)
def test_the_search_finds_such_members(program, place):
    assert place in _places_of(program, "")


@pytest.mark.parametrize(
    "program",
    [
        "from hemera._process import Lock\nclass A:\n  def f(self):\n    self.x = Lock()",
        "import httpx\nfrom hemera._process import OfProcess\nclass A:\n  def f(self):\n"
        "    self.x: OfProcess[httpx.Client] = OfProcess(httpx.Client)",
        "from hemera._process import Process\nclass A:\n  def f(self):\n"
        "    self.p = Process()\n    self._count += 1",
        "import secrets\nclass A:\n  def f(self):\n    x = secrets.token_bytes(3)",
    ],
)
def test_the_search_takes_those_of_the_helper(program):
    assert not _places_of(program, "")
