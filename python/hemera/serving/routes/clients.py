"""Who asks: the client of a request, by its token."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from hemera.serving.reasons import NO_TOKEN, NOT_ALLOWED
from hemera.serving.routes.state import state_of

_KINDS = ("model", "index", "federation")
"""Parameters of paths that tokens may be limited to."""

bearer = HTTPBearer(auto_error=False, description="The token that the server's operator gave you")


async def client_of(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> str:
    """The client that asks.

    Raises:
        Refused: (401) where it is none, (429) where it asks too often, (403) for a model, index or federation
            that its token is not for.
    """
    service = state_of(request).service
    caller = service.clients.caller(given.credentials) if given else None
    if caller is None:
        raise NO_TOKEN.refused()
    request.state.client, request.state.caller = caller.client, caller
    service.rates.request(caller.client)
    asked = [value for kind, value in request.path_params.items() if kind in _KINDS]
    if not all(map(caller.may_ask, asked)):
        raise NOT_ALLOWED.refused(name=asked[0][:64])
    return caller.client


ClientName = Annotated[str, Depends(client_of)]
