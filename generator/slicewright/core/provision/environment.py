"""The environment of a cluster as Terraform: the files of `provision/<cluster>/` that it consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.provision import (
    hcl,
    terraform_access,
    terraform_against,
    terraform_cluster,
    terraform_pools,
    terraform_settings,
)
from slicewright.core.provision.cloudbuild import cloudbuild
from slicewright.core.provision.node_pool import node_pools
from slicewright.core.provision.terraform_values import environment
from slicewright.core.run import header
from slicewright.core.run.identity import digest

if TYPE_CHECKING:
    from slicewright.core.plan.site import Site
    from slicewright.core.problem import Problem

_READ = ("mode", "project", "location", "nodeLocations", "gke", "environment")
"""The fields of a cluster that Terraform is made from; node-pools.tf is made from its pools too."""


def files(site: Site) -> dict[str, str]:
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
    return {
        f"provision/{site.cluster.name}/{name}": header.live(_inputs(site, name), body)
        for name, body in sorted(bodies.items())
    }


def problems(site: Site) -> tuple[Problem, ...]:
    """Return what is wrong with the environment of one cluster."""
    return tuple(terraform_against.problems(site))


def _inputs(site: Site, name: str) -> str:
    """Name the file that another was made from, with a digest of what was read in it."""
    source, spec = site.cluster.source, site.cluster.spec
    read = (*_READ, "pools", "computeClasses") if name == "node-pools.tf" else _READ
    facts: dict[str, Any] = {key: spec[key] for key in read if key in spec}
    return f"{source.file.path}; sha256:{digest({'name': site.cluster.name, **facts})[:16]}"
