"""Stage 7: the scores of all images."""

import workload

import hemera as hm
from hemera_apps.bench.harness import Steps

work = workload.Workload.parse()
package = work.package()
ctx = hm.Context(package.params, work.device)
steps = Steps(ctx)
with steps.of("Reading"):
    model = package.prepare(ctx)
    keys = ctx.load(work.keys / "keys.bin")
    package.check(ctx, keys)
    ev = model.bind(keys)
with steps.of("Warming up"):
    compute = workload.warm(model, ev, work.requests)
for path in sorted(work.up.glob("images*.bin")):
    with steps.of("Reading"):
        images = ev.load(path)
    (scores,) = steps.compute(lambda images=images: compute([images]))
    with steps.of("Writing"):
        scores.save(work.down / path.name.replace("images", "scores"))
steps.save(work.io / "server_reported_steps.json")
