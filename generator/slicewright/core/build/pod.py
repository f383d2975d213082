"""The pods on TPU hosts: selectors, chips, the user's program and whatever else people merge in."""

from __future__ import annotations

from typing import Any

from slicewright.core.build import container as containers
from slicewright.core.build.merge import merge
from slicewright.core.plan.keys import TPU
from slicewright.core.plan.plan import MARKER, Plan

PodTemplate = dict[str, Any]


def fill(template: PodTemplate, plan: Plan) -> None:
    """Make a base's pod template the plan's, in place: the pod runs the user's program on the chips."""
    spec = template["spec"]
    main = spec["containers"][0]
    containers.fill(main, plan)
    merge_template(template, plan.pod_template)
    containers.tell_run(spec, plan)
    containers.mount(spec, main, plan.gcs_fuse)
    claim(spec, main, plan)


def claim(spec: dict[str, Any], container: dict[str, Any], plan: Plan) -> None:
    """Select the hosts of the plan's shape and claim all chips of a host for a container."""
    theirs = {key: value for key, value in spec["nodeSelector"].items() if value != MARKER}
    spec["nodeSelector"] = {**theirs, **plan.node_selector}
    chips = str(plan.shape.chips_per_host)
    container["resources"]["requests"][TPU] = chips
    container["resources"]["limits"][TPU] = chips


def merge_template(template: PodTemplate, written: PodTemplate) -> None:
    """Merge a podTemplate of the user into one of a base."""
    if "metadata" in written:
        template.setdefault("metadata", {})
    merge(template, written)
