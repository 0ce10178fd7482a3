"""Paths and bodies of requests to a server, and what its errors say."""

KEYS = "/v1/models/scores/keys"
EVALUATE = "/v1/models/scores/evaluate"


def code(response):
    """The status and the code of an error."""
    told = response.json()["error"]
    assert len(told["message"]) > 10
    return response.status_code, told["code"]


def request_of(local, rows):
    """The body of a request of one input."""
    (data,) = local.encrypt(local.interface.encode(rows)).values()
    return data
