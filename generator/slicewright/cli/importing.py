"""`slicewright import`: files of intent from existing objects or command lines."""

import click

from slicewright.cli.command import HELP, epilog, folder_option
from slicewright.cli.import_cluster import import_cluster
from slicewright.cli.import_command import import_gcluster, import_xpk
from slicewright.cli.import_workload import import_workload


@click.group(
    "import",
    context_settings=HELP,
    epilog=epilog(
        "import",
        "slicewright import cluster --context gke_my-project_us-west4_research --write",
        "slicewright import workload jobset.yaml --cluster my-cluster --write",
        "slicewright import xpk --cluster my-cluster --write -- xpk workload create ...",
        "slicewright import gcluster --cluster my-cluster --write -- gcluster job submit ...",
    ),
    params=[folder_option()],
)
def importing() -> None:
    """Write TPUCluster and TPUWorkload files from existing objects."""


importing.add_command(import_cluster, "cluster")
importing.add_command(import_workload, "workload")
importing.add_command(import_xpk, "xpk")
importing.add_command(import_gcluster, "gcluster")
