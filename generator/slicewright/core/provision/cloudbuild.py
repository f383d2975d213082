"""cloudbuild.yaml: Cloud Build runs init, plan and apply; a substitution turns it into a destroy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.document.write import write_document

if TYPE_CHECKING:
    from slicewright.core.provision.terraform_settings import Environment

OPENTOFU = "ghcr.io/opentofu/opentofu:1.12.6"
"""The image of OpenTofu; its version is that of versions.yaml, with which the tests run."""

_GCLOUD = "gcr.io/google.com/cloudsdktool/google-cloud-cli:slim"
_PLAN = "plan.tfplan"
_LOCK = "-lock-timeout=10m"


def cloudbuild(environment: Environment) -> str:
    """Return the build; its source is the folder that it stands in."""
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
