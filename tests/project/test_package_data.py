"""What the package brings along: beside it in a checkout, inside of it when it is installed."""

from pathlib import Path

import pytest
import yaml

from slicewright.rendering.io import package_data as package


def test_data_of_an_installed_package_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel holds bases and schemas; a checkout has them beside the package, where people edit them."""
    here = tmp_path / "generator" / "slicewright"
    monkeypatch.setattr(package, "HERE", here)

    in_a_checkout = package.data_folder("schemas")
    (here / "_data" / "schemas").mkdir(parents=True)

    assert tmp_path / "schemas" == in_a_checkout
    assert here / "_data" / "schemas" == package.data_folder("schemas")


def test_package_is_read_once() -> None:
    """Catalogue and schemas are the same objects for every command of a process."""
    assert package.package() is package.package()
    assert package.package().catalogue is package.catalogue()


def test_broken_file_of_texts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody edited an installed package: the error of YAML says which file."""
    (tmp_path / "problems").mkdir()
    (tmp_path / "problems/broken.yaml").write_text("a: [\n", encoding="utf-8")
    monkeypatch.setattr(package, "HERE", tmp_path)

    with pytest.raises(yaml.YAMLError, match=r"problems/broken\.yaml"):
        package.texts("broken")
