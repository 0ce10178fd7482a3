"""A server's certificate for TLS, in files that are renewed while it runs."""

from __future__ import annotations

import ssl
from pathlib import Path

from hemera.errors import FileError


class Certificate:
    """A certificate with its key, for all connections that begin after it was read.

    Args:
        certificate: PEM file with the certificate and those that it rests on.
        key: PEM file with its key.
        password: of the key's file.

    Raises:
        FileError: as `read`.
    """

    def __init__(self, certificate: Path, key: Path, password: str | None = None) -> None:
        self._files = certificate, key
        self._password = password or ""  # without any OpenSSL would ask for it at a terminal
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.read()

    def read(self) -> None:
        """Take what the files have now. FileError where they do not fit; then what was read before stays."""
        try:
            # First elsewhere: a context keeps a certificate whose key does not fit.
            for context in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self.context):
                context.load_cert_chain(*self._files, password=self._password)
        except OSError as error:  # of files, and of TLS
            certificate, key = self._files
            why = getattr(error, "reason", None) or error.strerror or error
            raise FileError(f"cannot take the certificate {certificate} with the key {key}: {why}") from None
