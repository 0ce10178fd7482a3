"""What a server counts, by the text that Prometheus reads."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from hemera.serving.metrics import Metrics


def told(metrics: Metrics) -> dict[str, float]:
    """The values that are not 0, by name and labels; of histograms the sums, counts and buckets."""
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            if sample.value and not sample.name.endswith("_created"):
                labels = ",".join(sample.labels[name] for name in sorted(sample.labels))
                found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_requests_count_by_their_status_and_times_of_those_that_were_computed() -> None:
    metrics = Metrics()
    metrics.answered("scores", 200, 0.5, 1000)
    metrics.answered("scores", 200, 2.0, 24)
    metrics.answered("scores", 429, 7.0, 0)
    metrics.answered("rows", 201, 9.0, 0)  # a preparation, whose answer is a number
    metrics.answered("rows", 400, 9.0, 0)
    found = told(metrics)
    ends = [found.pop(f"hemera_request_seconds_bucket{{{end},scores}}", 0) for end in (0.25, 0.5, 1.0, 2.5)]
    assert ends == [0, 1, 1, 2]
    assert {name: value for name, value in found.items() if "_bucket" not in name} == {
        "hemera_requests_total{scores,200}": 2,
        "hemera_requests_total{scores,429}": 1,
        "hemera_requests_total{rows,201}": 1,
        "hemera_requests_total{rows,400}": 1,
        "hemera_sent_bytes_total": 1024,
        "hemera_request_seconds_count{scores}": 2,
        "hemera_request_seconds_sum{scores}": 2.5,
        "hemera_request_seconds_count{rows}": 1,
        "hemera_request_seconds_sum{rows}": 9,
    }


def test_batches_uploads_bytes_and_refusals() -> None:
    metrics = Metrics()
    assert told(metrics) == {}
    text = metrics.text().decode()
    for limit in ("requests", "bytes"):  # told as 0 before the first
        assert f'hemera_rate_limited_total{{limit="{limit}"}} 0.0' in text
    metrics.ran("scores", 3, 0.25)
    metrics.ran("scores", 1, 0.5)
    metrics.ran("rows", 2, 4.0)
    metrics.models.labels("scores", "ab").set(1)
    metrics.uploads.labels(201).inc()
    metrics.uploads.labels(422).inc()
    metrics.uploads.labels(201).inc()
    metrics.limited.labels("bytes").inc()
    metrics.received.inc(100)
    metrics.received.inc(11)
    metrics.hung_up.inc()
    value = [1.5]
    metrics.watch("hemera_own", "Watched", lambda: value[0])
    expected = {
        "hemera_batch_requests_count{scores}": 2,
        "hemera_batch_requests_sum{scores}": 4,
        "hemera_batch_requests_count{rows}": 1,
        "hemera_batch_requests_sum{rows}": 2,
        "hemera_batch_seconds_count{scores}": 2,
        "hemera_batch_seconds_sum{scores}": 0.75,
        "hemera_batch_seconds_count{rows}": 1,
        "hemera_batch_seconds_sum{rows}": 4,
        "hemera_model_info{ab,scores}": 1,
        "hemera_key_uploads_total{201}": 2,
        "hemera_key_uploads_total{422}": 1,
        "hemera_rate_limited_total{bytes}": 1,
        "hemera_received_bytes_total": 111,
        "hemera_hung_up_total": 1,
        "hemera_own": 1.5,
    }
    assert {name: number for name, number in told(metrics).items() if "_bucket" not in name} == expected
    value[0] = 2.5
    assert told(metrics)["hemera_own"] == 2.5  # looked at when it is asked for
    assert told(Metrics()) == {}  # each server counts its own
