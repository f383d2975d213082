"""What tests of the check share."""

from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP
from tests.check.past import commit
from tests.files import git

from slicewright.rendering.folder import SETTINGS


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Return an empty folder in a repository of ours, where objects of all kinds are judged."""
    (tmp_path / SETTINGS).touch()
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty folder outside of any repository of ours."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture
def past(tmp_path: Path) -> Path:
    """Return a git repository with findings in two files and in a build."""
    git(tmp_path, "init")
    kustomization = "resources: [../base]\nnamePrefix: x-\n"
    files = {
        "a.yaml": BAD_CONFIG_MAP,
        "b.yaml": BAD_CONFIG_MAP,
        "k/base/kustomization.yaml": "resources: [cm.yaml]\n",
        "k/base/cm.yaml": BAD_CONFIG_MAP,
        "k/base/other.yaml": CONFIG_MAP,
        "k/over/kustomization.yaml": kustomization.replace("namePrefix: x-\n", "namespace: x\n"),
    }
    commit(tmp_path, files)
    return tmp_path
