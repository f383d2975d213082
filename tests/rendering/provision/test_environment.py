"""The environment of the reference guide as Terraform: which files there are, and what their values are."""

import json
from pathlib import Path
from typing import Any

import pytest

from slicewright.rendering import header
from slicewright.rendering.provision.terraform import DEFAULTS, GOOGLE

from .kit import PLACE, ROOT, site, surveyed, terraform_files, text
from .opentofu import VERSIONS, planned, resources, tables

GUIDE = """
    project: my-project
    location: us-central2
    nodeLocations: [us-central2-b]
    pools:
    - {name: tpu-node-pool, tpu: v4-16}
    - {name: cpu-node-pool, machineType: n1-standard-4, nodes: 3}
    environment: {}
"""
"""The cluster of the guide: its defaults, and nothing besides."""

MODERN = "the guide's release is of 2023"
TABLE: list[tuple[str, Any, str]] = [
    # variable, its default in the guide (None: there is none), why it is another or no variable here
    ("region", None, ""),
    ("tensorboard_region", None, ""),
    ("artifact_repository_bucket_name", None, ""),
    ("zone", None, ""),
    ("network_name", None, ""),
    ("subnet_name", None, ""),
    ("subnet_ip_range", "10.129.0.0/20", ""),
    ("pods_ip_range", "192.168.64.0/20", ""),
    ("services_ip_range", "192.168.80.0/20", ""),
    ("cluster_name", None, ""),
    ("gke_version", "1.27.3-gke.100", MODERN),
    ("cluster_description", "GKE cluster for running TPU training workloads", ""),
    ("cpu_pool_node_count", 3, "pools"),
    ("cpu_pool_machine_type", "n1-standard-4", "pools"),
    ("cpu_pool_disk_type", "pd-standard", ""),
    ("cpu_pool_disk_size", "200GB", ""),
    ("tpu_sa_name", "cloud-tpu-sa", ""),
    ("tpu_sa_roles", ["roles/storage.objectAdmin", "roles/logging.logWriter"], ""),
    ("gke_sa_name", "gke-sa", ""),
    ("gke_sa_roles", ["roles/storage.objectAdmin", "roles/logging.logWriter"], ""),
    ("tpu_namespace", "tpu-training", ""),
    ("tpu_type", "v4-16", "pools"),
    ("num_tpu_pools", 1, "pools"),
    ("enable_tpu_autoscaling", False, "pools"),
    ("tpu_node_pool_name_prefix", "tpu-node-pool", "pools"),
    ("multislice_group_name", "multi-slice-group", ""),
]
OURS = {"network_mtu", "project_id", "gke_release_channel", "artifact_registry_name", "deletion_protection"}
"""Variables that the guide's table does not have."""


def variables(plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the declared variables of a plan."""
    declared: dict[str, dict[str, Any]] = plan["configuration"]["root_module"]["variables"]
    return declared


def values(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the value that each variable has in a plan."""
    return {name: item.get("value") for name, item in plan["variables"].items()}


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The plan of the guide's cluster."""
    return planned(
        tmp_path_factory.mktemp("guide"), terraform_files(site(GUIDE, name="gke-tpu-training-cluster"))
    )


@pytest.mark.workflow
def test_variables_of_the_guide(guide: dict[str, Any]) -> None:
    """Every variable of the guide's table is there with its default, but for those that pools decide."""
    declared = variables(guide)
    expected = {name: default for name, default, why in TABLE if not why}
    found = {name: item.get("default") for name, item in declared.items() if name in expected}
    assert expected == found
    assert {name for name, _, why in TABLE if why != "pools"} | OURS == set(declared)


@pytest.mark.workflow
def test_node_pools_of_the_guide(guide: dict[str, Any]) -> None:
    """What are variables of pools in the guide are values of the pools in the file, and come out the same."""
    of_pools = {name: default for name, default, why in TABLE if why == "pools"}
    made = resources(guide, "google_container_node_pool")
    tpu = made['google_container_node_pool.tpu-node-pool["tpu-node-pool-0"]']
    cpu = made['google_container_node_pool.cpu-node-pool["cpu-node-pool"]']

    assert of_pools["num_tpu_pools"] + 1 == len(made)
    assert f"{of_pools['tpu_node_pool_name_prefix']}-0" == tpu["name"]
    assert {"type": "COMPACT", "tpu_topology": "2x2x2"} == tpu["placement_policy"]
    assert ("ct4p-hightpu-4t", 2, False) == (
        tpu["node_config"]["machine_type"],
        tpu["node_count"],
        "autoscaling" in tpu,
    )
    assert {"multislice_group_name": "multi-slice-group"} == tpu["node_config"]["labels"]
    assert (of_pools["cpu_pool_machine_type"], of_pools["cpu_pool_node_count"], 200, "pd-standard") == (
        cpu["node_config"]["machine_type"],
        cpu["node_count"],
        cpu["node_config"]["disk_size_gb"],
        cpu["node_config"]["disk_type"],
    )


@pytest.mark.workflow
def test_values_of_the_guide(guide: dict[str, Any]) -> None:
    """Names follow from the project as in the guide's vars.env."""
    found = values(guide)
    assert {
        "project_id": "my-project",
        "region": "us-central2",
        "zone": "us-central2-b",
        "network_name": "my-project-network",
        "subnet_name": "my-project-subnet",
        "cluster_name": "gke-tpu-training-cluster",
        "tpu_namespace": "tpu-training",
        "tensorboard_region": "us-central1",
        "artifact_registry_name": "gke-tpu-training",
        "artifact_repository_bucket_name": "my-project-aiml-repository",
    }.items() <= found.items()


@pytest.mark.workflow
def test_what_is_made_for_the_guide(guide: dict[str, Any]) -> None:
    """Network with ranges, VPC-native cluster, accounts with roles, bucket, registry and TensorBoard."""
    (cluster,) = resources(guide, "google_container_cluster").values()
    (subnet,) = resources(guide, "google_compute_subnetwork").values()
    (bucket,) = resources(guide, "google_storage_bucket").values()
    (registry,) = resources(guide, "google_artifact_registry_repository").values()
    (tensorboard,) = resources(guide, "google_vertex_ai_tensorboard").values()
    (identity,) = resources(guide, "google_service_account_iam_member").values()
    roles = {item["role"] for item in resources(guide, "google_project_iam_member").values()}

    assert {
        "name": "gke-tpu-training-cluster",
        "location": "us-central2",
        "node_locations": ["us-central2-b"],
        "networking_mode": "VPC_NATIVE",
        "remove_default_node_pool": True,
        "deletion_protection": True,
        "release_channel": {"channel": "REGULAR"},
        "workload_identity_config": {"workload_pool": "my-project.svc.id.goog"},
        "addons_config": {"gcs_fuse_csi_driver_config": {"enabled": True}},
        "ip_allocation_policy": {
            "cluster_secondary_range_name": "pods",
            "services_secondary_range_name": "services",
        },
    }.items() <= cluster.items()
    assert [
        {"range_name": "pods", "ip_cidr_range": "192.168.64.0/20"},
        {"range_name": "services", "ip_cidr_range": "192.168.80.0/20"},
    ] == subnet["secondary_ip_range"]
    assert ("10.129.0.0/20", True) == (subnet["ip_cidr_range"], subnet["private_ip_google_access"])
    assert (True, "enforced") == (bucket["uniform_bucket_level_access"], bucket["public_access_prevention"])
    assert ("gke-tpu-training", "DOCKER") == (registry["repository_id"], registry["format"])
    assert "us-central1" == tensorboard["region"]
    assert "serviceAccount:my-project.svc.id.goog[tpu-training/cloud-tpu-sa]" == identity["member"]
    assert {
        "roles/storage.objectAdmin",
        "roles/logging.logWriter",
        "roles/container.defaultNodeServiceAccount",
        "roles/aiplatform.user",
    } == roles
    assert ["roles/storage.legacyBucketReader"] * 2 == [
        item["role"] for item in resources(guide, "google_storage_bucket_iam_member").values()
    ]


@pytest.mark.workflow
def test_outputs(guide: dict[str, Any]) -> None:
    """What follows from values alone is known before anything is made."""
    outputs = {
        name: item["value"] for name, item in guide["planned_values"]["outputs"].items() if "value" in item
    }
    assert {
        "artifact_registry": "us-central2-docker.pkg.dev/my-project/gke-tpu-training",
        "get_credentials": "gcloud container clusters get-credentials gke-tpu-training-cluster "
        "--region us-central2 --project my-project",
    }.items() <= outputs.items()


@pytest.mark.workflow
def test_every_field_reaches_terraform(tmp_path: Path) -> None:
    """What the block says is the value of its variable, and the place of the state."""
    written = {
        "resourcePrefix": "lab",
        "networkName": "net",
        "subnetName": "sub",
        "subnetIpRange": "10.0.0.0/16",
        "podsIpRange": "10.64.0.0/10",
        "servicesIpRange": "10.1.0.0/20",
        "clusterDescription": 'a "cluster" of ${price}',
        "cpuPoolDiskType": "pd-ssd",
        "cpuPoolDiskSize": "100GB",
        "tpuSaName": "tpu-users",
        "tpuSaRoles": ["roles/storage.objectUser"],
        "gkeSaName": "gke-nodes",
        "gkeSaRoles": [],
        "tpuNamespace": "lab",
        "multisliceGroupName": "lab",
        "artifactRepositoryBucketName": "lab-bucket",
        "artifactRegistryName": "lab-images",
        "tensorboardRegion": "europe-west4",
        "tfStateBucket": "lab-state",
        "tfStatePrefix": "lab/prefix",
    }
    pools = "pools: [{name: a, tpu: v5litepod-16}, {name: b, machineType: n2-standard-8}]"
    rendered = terraform_files(site(f"{PLACE}{pools}\nenvironment: {json.dumps(written)}"))
    found = values(planned(tmp_path, rendered))

    names = {"".join(f"_{c.lower()}" if c.isupper() else c for c in field): field for field in written}
    assert {name: written[field] for name, field in names.items() if name in found} == {
        name: value for name, value in found.items() if name in names
    }
    assert {"resource_prefix", "tf_state_bucket", "tf_state_prefix"} == set(names) - set(found)
    assert 'bucket = "lab-state"\n    prefix = "lab/prefix"' in rendered["provision/c1/versions.tf"]


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("location: us-west4-a", ("us-west4-a", None, "us-west4", "us-west4-a")),
        ("location: us-west4-a\nnodeLocations: [us-west4-a]", ("us-west4-a", None, "us-west4", "us-west4-a")),
        (
            "location: us-west4\nnodeLocations: [us-west4-b, us-west4-a]",
            ("us-west4", ["us-west4-b", "us-west4-a"], "us-west4", "us-west4-b"),
        ),
    ],
)
def test_places(spec: str, expected: tuple[str, list[str] | None, str, str], tmp_path: Path) -> None:
    """A zonal cluster names the zones besides its own only; the network is in the region of either."""
    made = site(f"project: p1\n{spec}\nenvironment: {{}}\npools: [{{name: b, machineType: n2-standard-8}}]")
    plan = planned(tmp_path, terraform_files(made))
    (cluster,) = resources(plan, "google_container_cluster").values()
    found = values(plan)
    assert expected == (cluster["location"], cluster.get("node_locations"), found["region"], found["zone"])


def test_maintenance() -> None:
    """Nodes are not upgraded under a run unless the file says so; an exclusion ends where it says."""
    spec = f"{PLACE}environment: {{}}\npools: [{{name: b, machineType: n2-standard-8}}]\n"
    ends = "{name: x, scope: NO_UPGRADES, endTime: 2026-02-01T00:00:00Z}"
    default, written = (
        terraform_files(site(text))["provision/c1/cluster.tf"].split("  maintenance_policy {\n")[1]
        for text in (spec, f"{spec}gke: {{maintenanceExclusions: [{ends}]}}")
    )

    window = (
        "    recurring_window {\n"
        '      start_time = "2025-12-01T09:00:00Z"\n'
        '      end_time   = "2025-12-01T13:00:00Z"\n'
        '      recurrence = "FREQ=DAILY"\n'
        "    }\n\n"
    )
    assert default.startswith(
        f"{window}    maintenance_exclusion {{\n"
        '      exclusion_name = "no-minor-or-node-upgrades"\n'
        '      start_time     = "2025-12-01T00:00:00Z"\n\n'
        "      exclusion_options {\n"
        '        scope             = "NO_MINOR_OR_NODE_UPGRADES"\n'
        '        end_time_behavior = "UNTIL_END_OF_SUPPORT"\n'
        "      }\n    }\n  }\n"
    )
    assert written.startswith(
        f"{window}    maintenance_exclusion {{\n"
        '      exclusion_name = "x"\n'
        '      start_time     = "2025-12-01T00:00:00Z"\n'
        '      end_time       = "2026-02-01T00:00:00Z"\n\n'
        "      exclusion_options {\n"
        '        scope = "NO_UPGRADES"\n'
        "      }\n    }\n  }\n"
    )


def test_access() -> None:
    """Private nodes, authorized networks, MTU and the accounts of teams are Terraform's too."""
    account = "serviceAccountName: ksa, googleServiceAccount: gsa@other.iam.gserviceaccount.com"
    files = terraform_files(
        site(
            f"{PLACE}environment: {{networkMtu: 8896}}\n"
            "gke: {privateNodes: true, authorizedNetworks: [10.0.0.0/8]}\n"
            f"teams: [{{name: a, namespace: b, {account}}}]\n"
            "pools: [{name: b, machineType: n2-standard-8}]"
        )
    )
    cluster, values = (
        " ".join(files[f"provision/c1/{name}"].split()) for name in ("cluster.tf", "terraform.tfvars")
    )

    assert "private_cluster_config { enable_private_nodes = true }" in cluster
    assert 'master_authorized_networks_config { cidr_blocks { cidr_block = "10.0.0.0/8" } }' in cluster
    assert (
        'resource "google_service_account_iam_member" "a" { '
        'service_account_id = "projects/other/serviceAccounts/gsa@other.iam.gserviceaccount.com" '
        'role = "roles/iam.workloadIdentityUser" member = "serviceAccount:my-project.svc.id.goog[b/ksa]"'
    ) in cluster
    assert "network_mtu = 8896" in values


@pytest.mark.workflow
def test_version_and_channel(tmp_path: Path) -> None:
    """A version and a release channel of the file are those of the cluster."""
    gke = "gke: {version: 1.34.1-gke.1829001, releaseChannel: rapid}\n"
    made = site(f"{PLACE}{gke}environment: {{}}\npools: [{{name: b, machineType: n2-standard-8}}]")
    (cluster,) = resources(planned(tmp_path, terraform_files(made)), "google_container_cluster").values()
    assert ("1.34.1-gke.1829001", {"channel": "RAPID"}) == (
        cluster["min_master_version"],
        cluster["release_channel"],
    )


@pytest.mark.workflow
def test_autopilot(tmp_path: Path) -> None:
    """An Autopilot cluster has no node pools of ours, and its nodes have the service account of nodes."""
    spec = "mode: Autopilot\nproject: p1\nlocation: us-west4\nenvironment: {}\n"
    rendered = terraform_files(site(f"{spec}pools: [{{name: a, tpu: v5litepod-16}}]"))
    plan = planned(tmp_path, rendered)
    (cluster,) = resources(plan, "google_container_cluster").values()

    assert cluster["enable_autopilot"]
    assert ["https://www.googleapis.com/auth/cloud-platform"] == (
        cluster["cluster_autoscaling"]["auto_provisioning_defaults"]["oauth_scopes"]
    )
    assert {"remove_default_node_pool", "initial_node_count", "node_config"} & set(cluster) == set()
    assert "provision/c1/node-pools.tf" not in rendered
    assert {"zone", "cpu_pool_disk_type", "multislice_group_name"} & set(variables(plan)) == set()


def test_no_environment() -> None:
    """There is Terraform only where the file has the block, and only for a platform that is ours."""
    pools = "pools: [{name: a, tpu: v5litepod-16}]"
    assert {} == terraform_files(site(f"{PLACE}{pools}"))
    theirs = text(f"{PLACE}{pools}\nenvironment: {{}}").replace("managed: true", "managed: false")
    assert {} == terraform_files(surveyed(theirs)[0])


def test_headers() -> None:
    """Every file has the header, names the file that it came from, and changes with what it is made of."""
    before = terraform_files(site(GUIDE))
    after = terraform_files(site(GUIDE.replace("v4-16", "v4-32")))
    assert all(header.is_ours(body) for body in before.values())
    assert {"# inputs: clusters/c1.yaml, cluster c1"} == {body.split("\n")[1] for body in before.values()}
    assert {"provision/c1/node-pools.tf"} == {path for path in before if before[path] != after[path]}


def test_defaults_are_those_of_the_schema() -> None:
    """The defaults in code are those that the format documents."""
    schema = json.loads((ROOT / "schemas/slicewright/tpucluster.json").read_text(encoding="utf-8"))
    block = schema["properties"]["spec"]["properties"]["environment"]["properties"]
    assert {name: field["default"] for name, field in block.items() if "default" in field} == DEFAULTS


def test_provider_is_that_of_the_tables() -> None:
    """The google providers that are allowed are of the majors whose tables are checked."""
    first, last = VERSIONS
    assert f">= {first.rpartition('.')[0]}, < {int(last.split('.')[0]) + 1}" == GOOGLE
    for version in VERSIONS:
        assert f"hashicorp/google {version}" == tables(version)["provider"]
        assert "cdktn-provider-google" == tables(version)["package"].split()[0]
