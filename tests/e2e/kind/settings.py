"""What the cluster of kind is made of: public images and the release manifests, or what variables name."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

import slicewright
from slicewright.kubernetes.types import Object

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CONTROLLERS = "overlays/multislice-cluster/_controllers"
IMAGES: dict[str, str] = yaml.safe_load((HERE / "images.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Settings:
    """`images` are those of controllers, by the name of their Deployment; `archives` hold images to load."""

    node_image: str
    config: Path
    container_image: str
    archives: tuple[Path, ...]
    manifests: Path | None
    images: dict[str, str]

    def objects(self) -> list[Object]:
        """Return the objects of JobSet and Kueue: those that a cluster of this repository installs."""
        if self.manifests is None:
            return list(slicewright.compose(slicewright.load(ROOT), CONTROLLERS).objects)
        found = sorted(self.manifests.glob("*.yaml")) if self.manifests.is_dir() else [self.manifests]
        texts = [path.read_bytes() for path in found]
        return [item for text in texts for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]


def settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Return what the variables say, and for the rest what is public."""
    named = {
        deployment: environ.get(f"SLICEWRIGHT_KIND_{name}_IMAGE", "")
        for deployment, name in (
            ("jobset-controller-manager", "JOBSET"),
            ("kueue-controller-manager", "KUEUE"),
        )
    }
    archives = environ.get("SLICEWRIGHT_KIND_ARCHIVES", "").split(os.pathsep)
    replaced = environ.get("SLICEWRIGHT_KIND_MANIFESTS")
    return Settings(
        node_image=environ.get("SLICEWRIGHT_KIND_NODE_IMAGE") or IMAGES["node"],
        config=Path(environ.get("SLICEWRIGHT_KIND_CONFIG") or HERE / "kind.yaml").absolute(),
        container_image=environ.get("SLICEWRIGHT_KIND_CONTAINER_IMAGE") or IMAGES["container"],
        archives=tuple(Path(path).absolute() for path in archives if path),
        manifests=Path(replaced).absolute() if replaced else None,
        images={deployment: image for deployment, image in named.items() if image},
    )
