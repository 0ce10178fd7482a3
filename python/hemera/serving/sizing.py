"""The memory that a server may take, and a client of each model: for the log at its start."""

from __future__ import annotations

import logging

from hemera import _machine
from hemera.errors import Error
from hemera.serving.logs import log
from hemera.serving.service import Service
from hemera.serving.settings import WORK_BYTES


def log_sizes(service: Service) -> None:
    """Write the sizes into the log, a line for the server and one for each model, as runs without values
    count them. The server's is a warning where it may need more than there is."""
    settings = service.settings
    there, loaded = _machine.memory_bytes(), settings.loaded_of_device
    on_host = 0 if "cuda" in service.device else loaded * len(service.caches)
    needed = WORK_BYTES + settings.waiting_of_all + on_host
    log(
        "sizing",
        level=logging.WARNING if needed > there else logging.INFO,
        memory_bytes=there,
        needed_bytes=needed,
        work_bytes=WORK_BYTES,
        waiting_bytes=settings.waiting_of_all,
        loaded_key_bytes=loaded,
    )
    for model in service.models.values():
        try:
            cost = model.package.cost()
        except Error as error:
            log("sizing", level=logging.WARNING, model=model.name, why=str(error))
            continue
        log(
            "sizing",
            model=model.name,
            key_bytes=cost.key_bytes,
            plaintext_bytes=cost.plaintext_bytes,
            workspace_bytes=cost.workspace_bytes,
            loaded_clients=loaded // max(1, cost.key_bytes),
        )
