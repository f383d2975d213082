"""The TPU slice of pods that select a ComputeClass in place of the labels of a shape."""

from collections.abc import Iterable, Iterator

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape, joined
from slicewright.check.rules.tpu_shape import of_labels
from slicewright.intent.tpuworkload import Provisioning
from slicewright.kubernetes.fields import at, entries, mapping, text
from slicewright.kubernetes.labels import ACCELERATOR, COMPUTE_CLASS, TOPOLOGY
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.problem import Path, Problem
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.placement import shape_selector
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


def select_slice(
    run: Object, classes: Iterable[Object], site: ResolvedCluster, catalogue: Catalogue
) -> dict[Path, str] | Problem:
    """Let pods that select only a ComputeClass select its slice too, and return the added labels.

    Return a problem if the slice is not known. `classes` are objects of the imported files. The file of the
    cluster has others, and pools of classes.
    """
    pods = next((pods for pods in pods_of(run, run["kind"]) if pods.chips), None)
    name = pods.selector.get(COMPUTE_CLASS) if pods else None
    if pods is None or name is None or {ACCELERATOR, TOPOLOGY} <= pods.selector.keys():
        return {}
    places = (
        [row for item in classes if at(item, "metadata", "name") == name for row in _rows(item, catalogue)],
        [row for item, rungs in site.compute_classes if item.name == name for _, row in rungs],
        [row for pool, row in site.pools if pool.provisioning == Provisioning("ComputeClass", name)],
    )
    labels = {row: shape_selector(row) for row in next(filter(None, places), ())}
    known = [row for row in labels if {**labels[row], **pods.selector}.items() >= labels[row].items()]
    fitting = [row for row in known if (row.chips_per_host, row.hosts) == (pods.chips, pods.pods_per_job)]
    rows = fitting if len(fitting) == 1 else known
    if len(rows) == 1:
        added = {key: value for key, value in labels[rows[0]].items() if key not in pods.selector}
        pods.spec["nodeSelector"] = {**mapping(pods.spec.get("nodeSelector")), **added}
        return {(*pods.spec_path, "nodeSelector", key): value for key, value in added.items()}
    message = f"{run['kind']} {run['metadata'].get('name', '')} selects ComputeClass '{name}', "
    if not known:
        hint = f"import its file too, or declare it in computeClasses in {site.source.file.path}"
        return Problem("IMP032", f"{message}but no imported file and no pool says which slices it has", hint)
    message += (
        f"which has several slices: {joined([f'{row.topology} of {row.accelerator}' for row in known])}"
    )
    return Problem("IMP032", message, f"add {ACCELERATOR} and {TOPOLOGY} to the nodeSelector of the pods")


def _rows(item: Object, catalogue: Catalogue) -> Iterator[Shape]:
    for _, rung in entries(at(item, "spec", "priorities")):
        accelerator, topology, count = (at(rung, "tpu", key) for key in ("type", "topology", "count"))
        yield from of_labels(catalogue, text(accelerator), text(topology), str(count or ""))
