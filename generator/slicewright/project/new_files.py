"""The files of a new repository, by path, and how its copies of bases and schemas are upgraded.

Beside the copies is a record of their digests, so that an upgrade knows what a person changed.
"""

import base64
import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackagePath
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.fields import mapping
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.folder import SETTINGS
from slicewright.rendering.io.package_data import data_folder
from slicewright.rendering.kustomization import FILE_NAME
from slicewright.rendering.platform.controller_files import MANIFESTS, ROOT, kustomization, release_of

_TEMPLATE = Path(__file__).with_name("template")
_PLACES = {
    "slicewright.yaml": "slicewright.yaml",
    "clusters/sample.yaml": "cluster.yaml",
    "workloads/hello.yaml": "workload.yaml",
    "defaults/repository.yaml": "defaults.yaml",
    "requirements.txt": "requirements.txt",
    "Makefile": "Makefile",
    "README.md": "readme.md",
    "CODEOWNERS": "codeowners",
    ".gitattributes": "gitattributes",
    ".gitignore": "gitignore",
    ".github/workflows/slicewright.yaml": "github.yaml",
    ".gitlab-ci.yml": "gitlab.yaml",
    ".pre-commit-config.yaml": "pre-commit.yaml",
    ".vscode/settings.json": "vscode.json",
}
"""Files that a team then owns: an upgrade does not look at them."""
_RENAMED = {"Makefile": "slicewright.mk", "requirements.txt": "requirements-slicewright.txt"}
"""Names for files that the others call, where a repository has its own file of the usual name."""
_TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)
WHEELS = "vendor"
"""The folder of the wheel; usual .gitignore files ignore `wheels/` and `dist/`."""


def specifier(version: str) -> str:
    """Return the versions that render a repository alike: `~=0.1.0` for 0.1.7, and `~=1.2` for 1.2.3.

    Before 1.0 the second number is the one that says what breaks.
    """
    major, minor = version.split(".")[:2]
    return f"~=0.{minor}.0" if major == "0" else f"~={major}.{minor}"


def renamed(root: Path) -> dict[str, str]:
    """Return other names for files that a folder has already, unless slicewright made its repository."""
    if (root / SETTINGS).exists():
        return {}
    return {path: name for path, name in _RENAMED.items() if os.path.lexists(root / path)}


def files(version: str, requirement: str, names: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Return the text of every file of a new repository.

    `requirement` is what pip installs slicewright from, `names` has other names for some of the files.
    """
    texts = {path: _text(_TEMPLATE / name) for path, name in _PLACES.items()}
    calls = re.compile(rf"\bmake (?=(?:{'|'.join(_TARGET.findall(texts['Makefile']))})\b)")
    values = {"@SPECIFIER@": specifier(version), "@REQUIREMENT@": requirement}
    for path, template in texts.items():
        text = calls.sub(f"make -f {names['Makefile']} ", template) if "Makefile" in names else template
        for word, other in {**names, **values}.items():
            text = text.replace(word, other)
        texts[path] = text
    texts = {names.get(path, path): text for path, text in texts.items()}
    copies = shipped()
    return texts | copies | records(copies, version)


FOLDERS = ("bases", "schemas")
RECORD = ".slicewright.json"
"""Name of the record in each of the folders."""
SCHEMAS = (
    "slicewright/common.json",
    "slicewright/settings.json",
    "slicewright/tpucluster.json",
    "slicewright/tpudefaults.json",
    "slicewright/tpuworkload.json",
    "kubernetes/pod-template.json",
)
"""The schemas of what people write, and what they refer to; the site of the documentation has them too."""


class Upgrade(Struct, frozen=True):
    """The changes that upgrade the copies in a repository."""

    writes: dict[str, str]
    deletes: tuple[str, ...]
    edited: tuple[Problem, ...]
    """Copies that a person changed: they are neither written nor deleted."""


def shipped() -> dict[str, str]:
    """Return the text of every base and schema in the package, by its path in a repository."""
    bases, schemas = data_folder("bases"), data_folder("schemas")
    texts = {f"bases/{path}": _text(bases / path) for path in _below(bases)}
    return texts | {f"schemas/{path}": _text(schemas / path) for path in SCHEMAS}


def _below(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in relative.parts):
            yield relative.as_posix()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def records(texts: Mapping[str, str], version: str) -> dict[str, str]:
    """Return the record of each folder, by its path."""
    about = "What slicewright init wrote here; init --upgrade leaves files that differ as they are."
    files: dict[str, dict[str, str]] = {folder: {} for folder in FOLDERS}
    for path, content in sorted(texts.items()):
        folder, _, name = path.partition("/")
        files[folder][name] = digest(content)
    record = {"about": about, "slicewright": version}
    return {
        f"{folder}/{RECORD}": json.dumps({**record, "files": digests}, indent=2) + "\n"
        for folder, digests in files.items()
    }


def digest(text: str) -> str:
    """Return the digest of a copy; how lines end does not count."""
    return "sha256:" + hashlib.sha256(text.replace("\r\n", "\n").encode(errors="surrogateescape")).hexdigest()


def upgrade(root: Path, version: str) -> Upgrade:
    """Return the changes that upgrade the copies in a repository to this version."""
    texts = shipped()
    writes: dict[str, str] = {}
    deletes: list[str] = []
    edited: list[Problem] = []
    for folder in FOLDERS:
        recorded = _recorded(root / folder / RECORD)
        paths = {path for path in texts if path.startswith(f"{folder}/")}
        # A release of a controller stays, for a cluster may name its version.
        earlier = (f"{folder}/{name}" for name in recorded)
        paths |= {path for path in earlier if not path.startswith(f"{ROOT}/")}
        for path in sorted(paths):
            present, copy = _present(root / path), texts.get(path)
            if present is None:
                writes |= {} if copy is None else {path: copy}
            elif copy is None or digest(present) != digest(copy):
                if digest(present) != recorded.get(path.removeprefix(f"{folder}/")):
                    edited.append(_edited(path, gone=copy is None, known=bool(recorded)))
                elif copy is None:
                    deletes.append(path)
                else:
                    writes[path] = copy
    writes |= dict(_kustomizations(root))
    writes |= {path: text for path, text in records(texts, version).items() if _present(root / path) != text}
    return Upgrade(writes, tuple(deletes), tuple(edited))


def _kustomizations(root: Path) -> Iterator[tuple[str, str]]:
    """Yield a kustomization for each release that a person put there, with the digest of its manifests."""
    for path in sorted((root / ROOT).glob(f"*/{MANIFESTS}")):
        folder = path.parent.relative_to(root).as_posix()
        text = _present(path)
        if text is None or release_of(folder) is None or (path.parent / FILE_NAME).exists():
            continue
        name = path.parent.name
        yield f"{folder}/{FILE_NAME}", kustomization(f"{name}, put here by hand", text)


def _recorded(path: Path) -> dict[str, Any]:
    """Return the digests of a record; nothing if there is none that can be read."""
    try:
        files = mapping(mapping(json.loads(_present(path) or "{}")).get("files"))
    except ValueError:
        return {}
    return {name: files[name] for name in files if not {"", ".", ".."} & {*name.split("/")}}


def _present(path: Path) -> str | None:
    try:
        return path.read_bytes().decode(errors="surrogateescape")
    except (OSError, ValueError):
        return None


def _edited(path: str, *, gone: bool, known: bool) -> Problem:
    message = (
        "the file was edited since slicewright wrote it" if known else "the version of the file is not known"
    )
    if gone:
        hint = "this version has no such file: move the parts that you need to custom/, and delete it"
    else:
        hint = (
            "move your change to a component in custom/ and delete the file, so that the upgrade writes the "
            "original; or keep the file: --keep"
        )
    return Problem("INIT001", message, hint, file=path)


_OF_A_WHEEL = ("METADATA", "WHEEL", "entry_points.txt", "licenses")
"""What a wheel has below `.dist-info`; installers add other files."""


class NotPackableError(Exception):
    """No wheel can be packed; carries the reason."""


def packed(installed: Distribution) -> tuple[str, bytes]:
    """Return the file name and the content of a wheel with the files of an installed pure Python package.

    Equal files give equal bytes. Raises NotPackableError for a package that runs from its checkout, without
    a list of its files, or with a file that differs from that list.
    """
    name, version = installed.metadata["Name"], installed.version
    about = f"{name}-{version}.dist-info"
    contents = dict(_contents(installed, name, about))
    if f"{name}/__init__.py" not in contents:
        raise NotPackableError("its installer left no list of its files")
    record = f"{about}/RECORD"
    lines = [f"{path},{_digest(content)},{len(content)}" for path, content in contents.items()]
    contents[record] = "\n".join((*lines, f"{record},,", "")).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in contents.items():
            archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
    return f"{name}-{version}-py3-none-any.whl", packed.getvalue()


def _contents(installed: Distribution, name: str, about: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file of the package that a wheel has."""
    for file in sorted(installed.files or ()):
        is_packed = file.parts[0] == name or (file.parts[0] == about and file.parts[1] in _OF_A_WHEEL)
        if is_packed and file.hash is not None:  # bytecode has no digest
            yield file.as_posix(), _unedited(file)


def _unedited(file: PackagePath) -> bytes:
    try:
        content = file.read_binary()
    except OSError as error:
        raise NotPackableError(f"{file} cannot be read: {error.strerror}") from error
    expected = f"{file.hash.mode}={file.hash.value}" if file.hash else ""
    if _digest(content) != expected:
        raise NotPackableError(f"{file} was edited after the installation")
    return content


def _digest(content: bytes) -> str:
    """Return a digest as a wheel's RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
