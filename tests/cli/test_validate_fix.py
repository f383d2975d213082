"""`validate --fix` in a repository of slicewright: the input is mended, what was rendered is not."""

from tests.conftest import Repo

WRONG = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata: {name: a}
spec:
  clusters: [c1]
  tpu: v5litepod-8
  slcies: 2  # one is not enough
  container: {image: "x@sha256:1"}
"""


def test_input_of_a_repository_is_mended(repo: Repo) -> None:
    """Without a path, misspelt keys of TPUWorkloads are renamed in their files."""
    repo.write("workloads/a.yaml", WRONG)

    shown = repo.run("validate", "--diff", code=1)
    assert WRONG == repo.read("workloads/a.yaml")
    assert "-  slcies: 2  # one is not enough\n+  slices: 2  # one is not enough\n" in shown.out

    assert "fixed 1 of " in repo.run("validate", "--fix").err
    assert WRONG.replace("slcies", "slices") == repo.read("workloads/a.yaml")
