"""The git repository that Argo CD clones, as `slicewright init` makes it."""

import textwrap
from pathlib import Path

from click.testing import CliRunner
from tests import files

import slicewright
from slicewright.cli.main import cli
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_UNSIGNED = ("-c", "commit.gpgsign=false")
_SLICE = (
    "clusters: [sample]",
    "tpu: v5litepod-8",
    "queueName: team",
    "container: {image: 'python:3.12', script: python train.py}",
)


class Tree:
    """A GitOps repository of ours, as `slicewright init` makes it."""

    def __init__(self, root: Path) -> None:
        """Make it, with Argo CD in the sample's cluster file."""
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        files.git(root, "init", "--quiet", "--initial-branch", "main")
        self.run("init", str(root), "--slicewright-requirement", "slicewright")
        sample = self.read("clusters/sample.yaml")
        # JobSet and Kueue run beside the cluster here, and have webhooks of their own.
        more = f"  controllers: {{managed: false}}\n  gitops: {{argocd: {{repoURL: '{self.url}'}}}}\n"
        self.write("clusters/sample.yaml", sample + more)

    @property
    def url(self) -> str:
        """Return the URL by which Argo CD clones it."""
        return self.root.as_uri()

    def write(self, path: str, text: str) -> None:
        """Write a file, its text without the common indent."""
        files.write(self.root, {path: textwrap.dedent(text).lstrip("\n")})

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return (self.root / path).read_text(encoding="utf-8")

    def commit(self, message: str) -> str:
        """Commit everything and return the revision."""
        files.git(self.root, "add", "--all")
        files.git(self.root, *_UNSIGNED, "commit", "--quiet", "--allow-empty", "--message", message)
        return files.git(self.root, "rev-parse", "HEAD")

    @property
    def site(self) -> ResolvedCluster:
        """Return the cluster, of which there is one."""
        (site,) = slicewright.load(self.root).repository.sites.values()
        return site

    def run(self, *arguments: str) -> str:
        """Run a command of slicewright, which has to succeed, and return what it prints."""
        done = CliRunner().invoke(cli, arguments, prog_name="slicewright", catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    def render(self, message: str, *arguments: str) -> str:
        """Render, commit, and return the revision."""
        self.run("render", "-C", str(self.root), *arguments)
        return self.commit(message)

    def workload(self, name: str, *fields: str, namespace: str = "default") -> None:
        """Write a TPUWorkload for the cluster: one slice, and lines of its spec beside that."""
        metadata = f"{{name: {name}, namespace: {namespace}}}"
        head = f"apiVersion: slicewright.dev/v1alpha1\nkind: TPUWorkload\nmetadata: {metadata}\nspec:\n"
        lines = "".join(f"  {line}\n" for line in (*_SLICE, *fields))
        self.write(f"workloads/{name}.yaml", head + lines)

    def cluster(self, old: str, new: str) -> None:
        """Change the cluster's file, which has to have what is changed."""
        text = self.read("clusters/sample.yaml")
        assert text.count(old) == 1, text
        self.write("clusters/sample.yaml", text.replace(old, new))
