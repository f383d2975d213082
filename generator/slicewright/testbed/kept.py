"""Beds that stay after a rehearsal, for the next one that needs the same controllers."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import msgspec

from slicewright.testbed import controllers, process_group
from slicewright.testbed.bed import Bed
from slicewright.testbed.cluster import Cluster
from slicewright.version import __version__

if TYPE_CHECKING:
    from slicewright.testbed.manifests import Installation

_DIGITS = 10


def kept_bed(wanted: Installation, generations: object, *, has_pods: bool, **options: Any) -> Bed:
    """Return the bed that an earlier rehearsal kept for the same controllers, or one to be started and kept.

    `generations` is what the simulated operator of PathwaysJobs knows. Raises BedError where a program is
    missing.
    """
    name = _name(wanted, generations, has_pods)
    there = {one.name: one for one in process_group.running(process_group.clusters_root())}.get(name)
    if there and there.status != "broken":
        return Bed(there, name, **options)
    if there:
        process_group.end(there)
    settings = wanted.settings
    return Cluster(name, controllers=wanted.objects, kueue_settings=settings, has_pods=has_pods, **options)


def _name(wanted: Installation, generations: object, has_pods: bool) -> str:
    """Return a name that differs wherever the programs, or what they are started with, differ."""
    programs = process_group.locate_programs(process_group.CONTROL_PLANE)
    paths = {name: str(path) for name, path in programs.items()}
    told = (
        __version__,
        paths,
        os.environ.get(controllers.OPERATOR_VARIABLE, ""),
        wanted,
        generations,
        has_pods,
    )
    return f"kept-{hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:_DIGITS]}"
