"""The environment of a cluster as Terraform: the files of `provision/<cluster>/` that it consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.provision import (
    hcl,
    terraform_access,
    terraform_cluster,
    terraform_pools,
    terraform_settings,
    validate_environment,
)
from slicewright.core.provision.cloudbuild import cloudbuild
from slicewright.core.provision.node_pool import node_pools
from slicewright.core.provision.terraform_values import environment
from slicewright.core.run import header

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Problem


def files(site: ResolvedCluster) -> dict[str, str]:
    """Return the files by path; none where the cluster has no environment or is somebody else's."""
    if not site.cluster.managed or "environment" not in site.cluster.spec:
        return {}
    made = environment(site)
    pools = node_pools(site)
    bodies = {
        "cluster.tf": hcl.text(terraform_cluster.cluster(made)),
        "network.tf": hcl.text(terraform_cluster.network()),
        "outputs.tf": hcl.text(terraform_settings.outputs(made)),
        "registry.tf": hcl.text(terraform_access.registry()),
        "service-accounts.tf": hcl.text(terraform_access.service_accounts()),
        "storage.tf": hcl.text(terraform_access.storage()),
        "tensorboard.tf": hcl.text(terraform_access.tensorboard()),
        "terraform.tfvars": hcl.text(terraform_settings.values(made)),
        "variables.tf": hcl.text(terraform_settings.variables(made)),
        "versions.tf": hcl.text(terraform_settings.versions(made)),
        "cloudbuild.yaml": cloudbuild(made),
    }
    if pools:
        bodies["node-pools.tf"] = hcl.text(terraform_pools.node_pools(made, pools))
    inputs = header.inputs(site.cluster.source.file.path, site.cluster.name)
    return {
        f"provision/{site.cluster.name}/{name}": header.live(inputs, body)
        for name, body in sorted(bodies.items())
    }


def problems(site: ResolvedCluster) -> tuple[Problem, ...]:
    """Return what is wrong with the environment of one cluster."""
    return tuple(validate_environment.problems(site))
