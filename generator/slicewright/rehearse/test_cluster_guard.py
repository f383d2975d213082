"""An existing cluster is used only where somebody has said that it is a test cluster."""

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.kubeconfig import Access
from slicewright.documentation import page
from slicewright.kubernetes.kinds import JOBSET_VERSION, KUEUE_VERSION
from slicewright.kubernetes.problem import Problem
from slicewright.testbed.bed_error import BedError

MARK = "slicewright.dev/test-cluster"
"""The label of the namespace kube-system that says so."""
_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
_NEEDED = {"JobSet": (JOBSET_VERSION, "JobSet"), "Kueue": (KUEUE_VERSION, "ClusterQueue")}


def admit(access: Access, *, mark: bool) -> None:
    """Return if the cluster carries the mark and has the controllers; set the mark only with `mark`.

    Raises BedError otherwise: nothing has been changed then.
    """
    with Api(access) as api:
        try:
            namespace = api.get("v1", "Namespace", "kube-system")
            _has_controllers(api)
            if namespace["metadata"].get("labels", {}).get(MARK) == "true":
                return
            if not mark:
                message = f"{access.server} is not marked as a test cluster"
                hint = "a rehearsal creates nodes, queues and pods in the cluster; "
                hint += "add --mark if it is a test cluster"
                raise BedError(Problem("REH008", message, hint))
            api.patch(_NAMESPACE, {"metadata": {"labels": {MARK: "true"}}})
        except (ApiError, OSError) as error:
            hint = "check the context, and that the cluster runs"
            raise BedError(Problem("REH009", f"{access.server} cannot be used: {error}", hint)) from error


def _has_controllers(api: Api) -> None:
    for name, kind in _NEEDED.items():
        with Ignored("NotFound"):
            api.resource(*kind)
            continue
        message = f"the cluster has no {name} ({kind[0]})"
        raise BedError(Problem("REH009", message, f"install it, as {page('explanation/testbed')} says"))
