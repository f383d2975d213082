"""What Kueue would refuse of its own Configuration, for a manager that refuses it does not start."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.kinds import KUEUE_CONFIGURATION_VERSION
from slicewright.core.platform.kueue import DEFAULT_RELEASE, V1BETA2_SINCE, release_of
from slicewright.core.platform.kueue_configuration import KIND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.check import Schemas
    from slicewright.core.problem import Problem

SCHEMA = "kinds/config.kueue.x-k8s.io/configuration_v1beta2.json"
"""The schema of Kueue's Configuration, by its path among ours."""

_FIELD = "kueue"


def validate_configuration(spec: dict[str, Any], schemas: Schemas) -> Iterator[Problem]:
    """Yield what is wrong in `kueue` in the spec of a TPUCluster, with paths and no places yet.

    Ids are those of the input formats (IN001 to IN006). The schema is that of v0.19.2: of a release with the
    same version of the API the problems are warnings, and of an earlier version nothing is known.
    """
    written, release = spec.get(_FIELD), release_of(spec)
    if not isinstance(written, dict) or release < V1BETA2_SINCE:
        return
    whole = {"apiVersion": KUEUE_CONFIGURATION_VERSION, "kind": KIND, **written}
    is_known = release == release_of({"versions": {"kueue": DEFAULT_RELEASE}})
    for problem in schemas.problems(SCHEMA, whole):
        yield replace(
            problem, path=("spec", _FIELD, *problem.path), severity="error" if is_known else "warning"
        )
