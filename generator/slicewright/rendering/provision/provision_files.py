"""The files of `provision/<cluster>/`, which create the cluster that its file describes."""

from collections.abc import Mapping
from typing import Any

from slicewright.document.write import write_document
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.provision import hcl, terraform, terraform_settings
from slicewright.rendering.provision.node_pool import node_pools
from slicewright.rendering.provision.scripts import LIBRARY, scripts
from slicewright.rendering.provision.terraform_settings import Environment

OPENTOFU = "ghcr.io/opentofu/opentofu:1.12.6"
"""The image of OpenTofu; its version is that of versions.yaml, with which the tests run."""

_GCLOUD = "gcr.io/google.com/cloudsdktool/google-cloud-cli:slim"
_PLAN = "plan.tfplan"
_LOCK = "-lock-timeout=10m"


def files(site: ResolvedCluster, shared: Mapping[str, str]) -> dict[str, str]:
    """Return the files of one cluster by path; none if the platform is somebody else's.

    `shared` are the files that are equal for all clusters but for their header, by name.
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
    environment = terraform_settings.environment(site)
    pools = node_pools(site)
    bodies = {
        **{name: text for name, text in shared.items() if name.endswith(".tf")},
        "cluster.tf": hcl.text(terraform.cluster(environment)),
        "outputs.tf": hcl.text(terraform_settings.outputs(environment)),
        "terraform.tfvars": hcl.text(terraform_settings.values(environment)),
        "variables.tf": hcl.text(terraform_settings.variables(environment)),
        "versions.tf": hcl.text(terraform_settings.versions(environment)),
        "cloudbuild.yaml": cloudbuild(environment),
    }
    if pools:
        bodies["node-pools.tf"] = hcl.text(terraform.node_pools(environment, pools))
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
