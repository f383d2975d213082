"""docs/reference/argo-cd.md says what is so."""

import re

import yaml
from tests.conftest import PROJECT, Repo
from tests.rendering.platform.kit import cluster, repository

from .kit import GITOPS, HERE, PLATFORM, documents, names, synced, workload

PAGE = (PROJECT / "docs/reference/argo-cd.md").read_text(encoding="utf-8")


def test_block_of_the_page_is_accepted_and_holds_every_field() -> None:
    """What people copy first is right, and says what there is to say."""
    block = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
    text = cluster(f"{PLATFORM.strip()}\n{yaml.safe_dump({'gitops': block['spec']['gitops']})}")

    assert repository(text).problems == ()
    assert {
        "repoURL",
        "targetRevision",
        "path",
        "namespace",
        "destination",
        "applicationPer",
        "project",
    } == set(block["spec"]["gitops"]["argocd"])


def test_page_names_what_is_rendered(empty: Repo) -> None:
    """Each file stands in the table, each sync option and each name of an object on the page."""
    synced(empty, GITOPS.replace("}}", ", applicationPer: Workload}}"))
    workload(empty)
    empty.run("render")

    for name in names(empty):
        shown = re.sub("team-a", "<namespace>", name).replace(".a.yaml", ".<workload>.yaml")
        assert f"| `argocd/{shown}` |" in PAGE
        for item in documents(empty.read(f"{HERE}/{name}")):
            called = item["metadata"]["name"].replace("c1", "<cluster>").replace("team-a", "<namespace>")
            assert f"`{re.sub('[.]a$', '.<workload>', called)}`" in PAGE
            for option in item["spec"].get("syncPolicy", {}).get("syncOptions", ()):
                assert option == "CreateNamespace=false" or f"`{option.removesuffix('=true')}`" in PAGE
