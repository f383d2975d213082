"""The files of `provision/<cluster>/`: what makes the cluster that its file describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.provision import hcl, terraform, terraform_settings
from slicewright.core.provision.cloudbuild import cloudbuild
from slicewright.core.provision.node_pool import node_pools
from slicewright.core.provision.scripts import LIBRARY, scripts
from slicewright.core.run import header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.core.plan.resolve import ResolvedCluster


def files(site: ResolvedCluster, shared: Mapping[str, str]) -> dict[str, str]:
    """Return the files of one cluster by path; none where the platform is somebody else's.

    `shared` are the files that are equal for all clusters but for their header, by name.
    """
    if not site.cluster.managed:
        return {}
    folder = f"provision/{site.cluster.name}"
    made = {f"{folder}/{name}": text for name, text in scripts(site, shared[LIBRARY]).items()}
    return dict(sorted((terraform_files(site, shared) | made).items()))


def terraform_files(site: ResolvedCluster, shared: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a cluster as Terraform, by path; nothing where it has none."""
    if "environment" not in site.cluster.spec:
        return {}
    made = terraform_settings.environment(site)
    pools = node_pools(site)
    bodies = {
        **{name: text for name, text in shared.items() if name.endswith(".tf")},
        "cluster.tf": hcl.text(terraform.cluster(made)),
        "outputs.tf": hcl.text(terraform_settings.outputs(made)),
        "terraform.tfvars": hcl.text(terraform_settings.values(made)),
        "variables.tf": hcl.text(terraform_settings.variables(made)),
        "versions.tf": hcl.text(terraform_settings.versions(made)),
        "cloudbuild.yaml": cloudbuild(made),
    }
    if pools:
        bodies["node-pools.tf"] = hcl.text(terraform.node_pools(made, pools))
    inputs = header.inputs(site.cluster.source.file.path, site.cluster.name)
    return {
        f"provision/{site.cluster.name}/{name}": header.live(inputs, body) for name, body in bodies.items()
    }
