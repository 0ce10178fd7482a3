"""The answers of a server in JSON, as its OpenAPI document describes them. Fields may be added."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="a SHA-256 in hexadecimal digits")]
Count = Annotated[int, Field(ge=0)]
Base64 = Annotated[
    str, Field(pattern="^[A-Za-z0-9+/]*={0,2}$", json_schema_extra={"contentEncoding": "base64"})
]


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow")


class Status(Answer):
    status: Literal["ok"]


class Health(Status):
    version: str = Field(description="of Hemera")
    device: str = Field(description="the devices that compute, with commas")
    models: list[str]
    indexes: list[str]
    damaged: list[str] = Field(description="models and indexes that can not be served")


class ModelEntry(Answer):
    name: str
    description: str
    digest: Digest = Field(description="the model's; requests name it as Hemera-Model")
    version: str | None


class Models(Answer):
    models: list[ModelEntry]


class Limits(Answer):
    request_bytes: Count
    key_bytes: Count = Field(description="of an upload of keys")


class ModelLimits(Limits):
    evaluations: Count = Field(description="of one request")


class IndexLimits(Limits):
    queries: Count = Field(description="of one request")


class Rates(Answer):
    requests_per_second: float | None
    bytes_per_second: float | None


class Part(Answer):
    name: str
    width: Count = Field(description="slots that have values")
    shape: list[Count] = Field(description="axes of the batch of ciphertexts of one evaluation")


class Described(Answer):
    """What clients need; docs/serving.md describes the fields."""

    name: str
    fingerprint: Digest
    degree: Count
    log_modulus: float
    security: str
    parameters: Base64 = Field(description="a file of Hemera's parameters")
    rates: Rates


class DescribedModel(Described):
    description: str
    version: str | None
    digest: Digest
    scheme: Literal["bfv", "bgv", "ckks"]
    levels: Count
    depth: int
    keys: dict[str, Any] = Field(description="the evaluation keys that it needs")
    key_bytes_at_most: Count
    inputs: list[Part]
    outputs: list[Part]
    encoding: dict[str, Any]
    limits: ModelLimits


class Maps(Answer):
    """Keys, and layouts as plain maps; docs/javascript.md describes the fields."""

    parameters: Base64
    keys: list[list[str | int]]


class MapsOfModel(Maps):
    digest: Digest
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]


class MapsOfIndex(Maps):
    settings: str = Field(description="the digest in messages")
    dims: Count
    queries: Count = Field(description="of a request; where scores are compared, ciphertexts of thresholds")


class IndexEntry(Answer):
    name: str
    kind: str
    rows: Count


class Indexes(Answer):
    indexes: list[IndexEntry]


class DescribedIndex(Described):
    kind: str
    rows: Count
    version: Count = Field(description="of its rows: another one after a change")
    settings: dict[str, Any]
    expected_error: dict[str, float]
    limits: IndexLimits


class Keys(Answer):
    library: str = Field(description="the library of the files")
    digest: Digest = Field(description="of the names and contents of the files")
    bytes: Count


class Held(Answer):
    bytes: Count = Field(description="of the upload that are here")


class Prepared(Answer):
    prepared: Count = Field(description="queries that are prepared")


class Files(Answer):
    files: dict[str, str] = Field(description="to each name a word that differs for another file")
    party_bytes: Count = Field(description="that one party may have here")
