"""The platform in the tree: queues and teams, and provision/<cluster>/, which creates the cluster."""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from slicewright.document.write import write_document
from slicewright.kubernetes.kinds import KUEUE_CONFIG_MAP
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.folder import PROVISION, controllers_folder, platform_folder
from slicewright.rendering.gitops.synced import is_gitops_folder
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform import platform_files
from slicewright.rendering.platform.controller_files import (
    controller_files,
    controller_problems,
    needed_releases,
)
from slicewright.rendering.platform.kueue_configuration import evicts_nothing_that_recovers
from slicewright.rendering.provision import hcl, terraform
from slicewright.rendering.provision.node_pool import node_pools
from slicewright.rendering.provision.scripts import LIBRARY, scripts
from slicewright.rendering.provision.terraform import Environment, cluster_resources, node_pool_resources
from slicewright.rendering.repository import Repository

DESTROY = "destroy.sh"
_LAST = (DESTROY, LIBRARY)

PlatformEffect = Literal["added", "changed", "removed"]


class PlatformChange(Struct, frozen=True):
    """One file of a cluster's platform that a render adds, changes or removes."""

    effect: PlatformEffect
    cluster: str
    path: str
    reason: str


def platform_tree_files(
    repository: Repository, untainted: Mapping[str, Collection[str]] | None = None
) -> tuple[dict[str, str], list[Problem]]:
    """Return the files of all platforms that are ours to make, by path, and their problems.

    `untainted` are the flavors of a cluster whose taint waits for runs that do not tolerate it.
    """
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    read_text = cache(repository.read_text)  # clusters share their releases
    for name, site in repository.sites.items():
        releases = needed_releases(site, repository.workloads)
        problems += controller_problems(site, releases, read_text, repository.package.releases)
        texts |= controller_files(site, releases)
        texts |= platform_files.files(site, (untainted or {}).get(name, ()))
        texts |= provision_files(site, repository.package.provision)
    return texts, problems


def left_behind(
    folders: Mapping[str, Iterable[str]], sites: Mapping[str, ResolvedCluster]
) -> Iterator[tuple[list[str], Problem]]:
    """Yield the files that take down a cluster without a TPUCluster file, and a warning about them.

    A render cannot know whether the cluster still exists. It keeps `destroy.sh` with its library, and all
    files of Terraform if Terraform made the cluster, until somebody deletes the folder.
    """
    for folder, paths in sorted(folders.items()):
        root, _, cluster = folder.partition("/")
        if root != PROVISION or cluster in sites:
            continue
        script, files = f"{folder}/{DESTROY}", sorted(paths)
        if not any(path.endswith(".tf") for path in files):
            files = [path for path in files if script in files and posixpath.basename(path) in _LAST]
        if files:
            message = f"cluster '{cluster}' is not declared in any file, but may still exist"
            hint = f"run {script} and what it names, then delete {folder}"
            yield files, Problem("POOL045", message, hint, severity="warning", file=script)


def cluster_of(folder: str) -> str:
    """Return the cluster of a platform or GitOps folder; '' for a workload's folder."""
    root, cluster = f"{folder}/".split("/")[:2]
    folders = (platform_folder(cluster), controllers_folder(cluster))
    return cluster if root == PROVISION or folder in folders or is_gitops_folder(folder) else ""


def platform_change(
    path: str, effect: PlatformEffect, sites: Mapping[str, ResolvedCluster]
) -> PlatformChange:
    """Return the change of a platform file, and its reason."""
    folder = posixpath.dirname(path)
    cluster, syncs = cluster_of(folder), is_gitops_folder(folder)
    is_configuration = effect != "removed" and posixpath.basename(path).startswith(KUEUE_CONFIG_MAP)
    if is_configuration and evicts_nothing_that_recovers(sites[cluster]):
        reason = "a workload has elastic slices, so recoveryTimeout is 0s for all runs of the cluster"
    elif effect == "added":
        reason = "it is new"
    elif effect == "changed" and path.startswith(f"{PROVISION}/"):
        reason = f"it follows {sites[cluster].cluster.source.file.path}"
    elif effect == "changed":
        reason = f"{'sync' if syncs else 'platform'} files follow the TPUCluster at each render"
    elif cluster not in sites:
        reason = "the cluster is gone"
    else:
        is_unused = syncs or sites[cluster].cluster.managed
        reason = "nothing asks for it" if is_unused else "managed is false"
    return PlatformChange(effect, cluster, path, reason)


OPENTOFU = "ghcr.io/opentofu/opentofu:1.12.6"
"""The image of OpenTofu; its version is that of versions.yaml, with which the tests run."""

_GCLOUD = "gcr.io/google.com/cloudsdktool/google-cloud-cli:slim"
_PLAN = "plan.tfplan"
_LOCK = "-lock-timeout=10m"


def provision_files(site: ResolvedCluster, shared: Mapping[str, str]) -> dict[str, str]:
    """Return the files of one cluster by path; none with `managed: false`.

    `shared` are the files that are equal for all clusters except for their header, by name.
    """
    if not site.cluster.managed:
        return {}
    folder = f"provision/{site.cluster.name}"
    paths = {f"{folder}/{name}": text for name, text in scripts(site, shared[LIBRARY]).items()}
    return dict(sorted((terraform_files(site, shared) | paths).items()))


def terraform_files(site: ResolvedCluster, shared: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a cluster as Terraform, by path; nothing if it has none."""
    if "environment" not in site.cluster.spec:
        return {}
    environment = terraform.environment(site)
    pools = node_pools(site)
    bodies = {
        **{name: text for name, text in shared.items() if name.endswith(".tf")},
        "cluster.tf": hcl.text(cluster_resources(site, environment)),
        "outputs.tf": hcl.text(terraform.terraform_outputs(environment)),
        "terraform.tfvars": hcl.text(terraform.terraform_values(environment)),
        "variables.tf": hcl.text(terraform.terraform_variables(environment)),
        "versions.tf": hcl.text(terraform.terraform_versions(environment)),
        "cloudbuild.yaml": cloudbuild(environment),
    }
    if pools:
        bodies["node-pools.tf"] = hcl.text(node_pool_resources(environment, pools))
    return {f"provision/{site.cluster.name}/{name}": site.live(body) for name, body in bodies.items()}


def cloudbuild(environment: Environment) -> str:
    """Return cloudbuild.yaml: Cloud Build runs init, plan and apply; a substitution turns it into a destroy.

    Its source is the folder that it is in.
    """
    document: dict[str, Any] = {
        "steps": [
            {
                "id": "state",
                "name": "${_GCLOUD}",
                "entrypoint": "bash",
                "args": ["-euc", _state_bucket(environment)],
            },
            _step("init", "init", "-input=false", _LOCK),
            _step(
                *("plan", "plan", "-input=false", _LOCK, f"-out={_PLAN}"),
                "-destroy=${_DESTROY}",
                "-var=deletion_protection=${_DELETION_PROTECTION}",
            ),
            _step("apply", "apply", "-input=false", _LOCK, _PLAN),
        ],
        "substitutions": {
            "_DELETION_PROTECTION": "true",
            "_DESTROY": "false",
            "_GCLOUD": _GCLOUD,
            "_IMAGE": OPENTOFU,
        },
        "options": {"logging": "CLOUD_LOGGING_ONLY"},
        "timeout": "7200s",
    }
    return write_document(document)


def _step(name: str, *args: str) -> dict[str, Any]:
    return {"id": name, "name": "${_IMAGE}", "args": list(args)}


def _state_bucket(environment: Environment) -> str:
    """Return the command that makes the bucket of the state, which Terraform cannot make for itself."""
    bucket = f"gs://{environment.fields['tfStateBucket']}"
    return (
        f"gcloud storage buckets describe {bucket} --format='value(name)' && exit\n"
        f"gcloud storage buckets create {bucket} --project={environment.project} \\\n"
        f"  --location={environment.region} --uniform-bucket-level-access --public-access-prevention\n"
        f"gcloud storage buckets update {bucket} --versioning\n"
    )
