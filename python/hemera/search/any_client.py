"""What the clients of all indexes have in common: a secret key, evaluation keys, and queries that wait."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar, cast

from hemera._process import Lock, cached_property
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.arguments import in_own_words, require_type
from hemera.inputs.source import Source
from hemera.objects.context import Context
from hemera.objects.keys import Keys, SecretKey
from hemera.search.any_index import S
from hemera.search.any_settings import AnySettings
from hemera.search.requests import name_of

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self

__all__ = ["AnyClient"]

W = TypeVar("W")
"""What decrypting the answer to a query needs of it."""


@in_own_words
class AnyClient(ABC, Generic[S, W]):
    """A client of an index: it has the secret key, encrypts queries and decrypts answers. Any thread may use
    it."""

    settings_type: ClassVar[type[AnySettings]]
    """The type of its settings."""

    _settings: S
    _context: Context
    _secret_key: SecretKey
    _waiting: dict[str, W]  # by the names of queries

    def __init__(
        self, settings: S | Source, secret_key: Source | None = None, *, threads: int | None = None
    ) -> None:
        given: Any = settings
        if not isinstance(given, AnySettings):
            given = self.settings_type.load(given)
        if type(given) is not self.settings_type:
            raise MismatchError(
                f"{type(self).__name__} is for an index with {self.settings_type.__name__}, and these are "
                f"{type(given).__name__}"
            )
        self._begin(cast(S, given), threads)
        if secret_key is not None:
            loaded = self._context.load(secret_key)
            self._secret_key = require_type(loaded, SecretKey, type(self).__name__, "a secret key")
        elif self._settings.owner:
            raise ParameterError(
                "only the key of its owner reads an encrypted index: give secret_key=, or begin another "
                f"index by {type(self).__name__}.owning(vectors)"
            )
        else:
            self._secret_key = self._context.generate_secret_key()

    @classmethod
    def _owner_of(cls, settings: S, threads: int | None) -> Self:
        """A client with a fresh secret key, whatever the settings' owner is."""
        client = cls.__new__(cls)
        client._begin(settings, threads)
        client._secret_key = client._context.generate_secret_key()
        return client

    def _begin(self, settings: S, threads: int | None) -> None:
        """All but the secret key."""
        self._settings = settings
        self._context = Context(settings.params, "cpu", threads=threads)
        self._waiting = {}
        self._lock = Lock()

    @property
    def settings(self) -> S:
        """The settings of the index."""
        return self._settings

    @property
    def secret_key(self) -> SecretKey:
        """The key that decrypts answers. It stays with the client; `save(path)` writes a file of it."""
        return self._secret_key

    @cached_property
    def keys(self) -> bytes:
        """The keys that an index needs to answer. They can not decrypt. Made at the first use, and of one
        secret key always for the same queries."""
        return self._generate_keys().to_bytes()

    @abstractmethod
    def _generate_keys(self) -> Keys:
        """The keys that an index needs to answer."""

    def forget(self, query: bytes) -> None:
        """Give up a query whose answer will not come."""
        with self._lock:
            self._waiting.pop(name_of(query), None)

    def _wait_for(self, query: bytes, asked: W) -> None:
        """Keep for its answer what decrypting it needs."""
        with self._lock:
            self._waiting[name_of(query)] = asked

    def _asked(self, name: str) -> W:
        """The same of a query that waits. MismatchError if none of this name does."""
        asked = self._waiting.get(name)
        if asked is None:
            raise MismatchError("the answer belongs to no query of this client that waits for one")
        return asked

    def _answered(self, name: str) -> None:
        """The query of this name waits no longer. MismatchError if another thread was before."""
        with self._lock:
            if self._waiting.pop(name, None) is None:
                raise MismatchError("the answer belongs to no query of this client that waits for one")
