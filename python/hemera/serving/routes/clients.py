"""Who asks: the client of a request, by its token."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from hemera.serving.reasons import NO_TOKEN
from hemera.serving.routes.state import state_of

bearer = HTTPBearer(auto_error=False, description="The token that the server's operator gave you")


async def client_of(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> str:
    """The client that asks.

    Raises:
        Refused: (401) where it is none, (429) where it asks too often.
    """
    service = state_of(request).service
    client = service.clients.of_token(given.credentials) if given else None
    if client is None:
        raise NO_TOKEN.refused()
    request.state.client = client
    service.rates.request(client)
    return client


ClientName = Annotated[str, Depends(client_of)]
