"""Nothing that a kustomization says makes `validate` send a request, not even to this machine."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write

from slicewright.check.io import kustomizations as kustomize

GENERATOR = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: b}, FILES: ['k=URL']}"
PATCH = "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: b}\npath: URL\n"
FORMS = {
    "resources": {"one/kustomization.yaml": "resources: [URL, a.yaml]\n"},
    "upper case": {"one/kustomization.yaml": "RESOURCES: [a.yaml]\ncRDs: [HTTP://HOST/x]\n"},
    "a long s": {"one/kustomization.yaml": "resources: [a.yaml]\npatche\u017f: [{path: URL}]\n"},
    "crds": {"one/kustomization.yaml": "resources: [a.yaml]\ncrds: [URL]\n"},
    "configurations": {"one/kustomization.yaml": "resources: [a.yaml]\nconfigurations: [URL]\n"},
    "files": {"one/kustomization.yaml": "configMapGenerator: [{name: b, files: [URL]}]\n"},
    "key of files": {"one/kustomization.yaml": "configMapGenerator: [{name: b, files: ['a/b=URL']}]\n"},
    "secrets": {"one/kustomization.yaml": "secretGenerator: [{name: b, files: ['k=URL']}]\n"},
    "envs": {"one/kustomization.yaml": "configMapGenerator: [{name: b, envs: [URL]}]\n"},
    "env": {"one/kustomization.yaml": "configMapGenerator: [{name: b, env: URL}]\n"},
    "patch": {"one/kustomization.yaml": "resources: [a.yaml]\npatches: [{path: URL}]\n"},
    "merge patch": {"one/kustomization.yaml": "resources: [a.yaml]\npatchesStrategicMerge: [URL]\n"},
    "JSON patch": {
        "one/kustomization.yaml": "resources: [a.yaml]\n"
        "patchesJson6902: [{target: {version: v1, kind: ConfigMap, name: a}, path: URL}]\n"
    },
    "replacements": {"one/kustomization.yaml": "resources: [a.yaml]\nreplacements: [{path: URL}]\n"},
    "openapi": {"one/kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: URL}\n"},
    "generators": {"one/kustomization.yaml": "generators: [URL]\n"},
    "inline generator": {"one/kustomization.yaml": f'generators: ["{GENERATOR}"]\n'},
    "generator": {"one/kustomization.yaml": "generators: [g]\n", "one/g": GENERATOR},
    "generators of a folder": {
        "one/kustomization.yaml": "generators: [g]\n",
        "one/g/kustomization.yaml": "resources: [g.yaml]\n",
        "one/g/g.yaml": GENERATOR,
    },
    "transformer": {
        "one/kustomization.yaml": "resources: [a.yaml]\ntransformers: [t.yaml]\n",
        "one/t.yaml": PATCH,
    },
    "validator": {
        "one/kustomization.yaml": "resources: [a.yaml]\nvalidators: [t.yaml]\n",
        "one/t.yaml": PATCH,
    },
    "base": {
        "one/kustomization.yaml": "resources: [../two]\nnamePrefix: b-\n",
        "two/kustomization.yaml": "resources: [URL]\n",
    },
    "base beyond a link": {
        "one/kustomization.yaml": "resources: [link]\nnamePrefix: b-\n",
        "deep/real/kustomization.yaml": "resources: [../two]\n",
        "deep/two/kustomization.yaml": "resources: [URL]\n",
    },
    "base of two kinds": {
        "one/kustomization.yaml": "resources: [../two]\nnamePrefix: b-\n",
        "two/kustomization.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\n"
        "apiversion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [URL]\n",
    },
}
HIDDEN = {
    "a patch makes the configuration": {
        "one/kustomization.yaml": "generators: [g]\n",
        "one/g/kustomization.yaml": "resources: [g.yaml]\n"
        "patches: [{path: p.json, target: {kind: ConfigMapGenerator}}]\n",
        "one/g/p.json": '[{"op": "add", "path": "/envs", "value": ["URL"]}]',
        "one/g/g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: b}\n",
    }
}


@pytest.fixture
def asked() -> Iterator[list[str]]:
    """Serve on loopback, and note what is asked for; the first entry is the address."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(CONFIG_MAP.encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        paths.append(f"127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield paths
        server.shutdown()
        thread.join()


def lay(folder: Path, files: dict[str, str], host: str) -> None:
    """Write a form of asking for something of a host."""
    texts = {
        name: text.replace("URL", f"http://{host}/x.yaml").replace("HOST", host)
        for name, text in files.items()
    }
    write(folder, {"one/a.yaml": CONFIG_MAP, **texts})
    (folder / "one/link").symlink_to("../deep/real")


@pytest.mark.tools
@pytest.mark.parametrize("form", [*FORMS, *HIDDEN])
def test_no_request_leaves(form: str, tmp_path: Path, asked: list[str]) -> None:
    """What kustomize would ask for is refused before kustomize starts; kustomize itself does ask."""
    lay(tmp_path, {**FORMS, **HIDDEN}[form], asked[0])
    expected = "KUS010" if form in FORMS else "KUS020"
    done = run(tmp_path, "one", "-o", "json", "--schemas-only")
    code = 1 if form in HIDDEN else 0
    assert ([expected], [], code) == (sorted(set(done.ids) & {expected}), asked[1:], done.code)
    kustomize.build(str(tmp_path / "one"), "one")
    assert asked[1:], "this form is no way out, and its test proves nothing"


@pytest.mark.tools
def test_what_is_no_path_may_look_like_an_address(tmp_path: Path) -> None:
    """Addresses in values, and configurations of transformers without any, are built."""
    write(
        tmp_path,
        {
            "a.yaml": CONFIG_MAP,
            "t/kustomization.yaml": "resources: [t.yaml]\n",
            "t/t.yaml": "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: b-\n"
            "fieldSpecs: [{path: metadata/name}]\n",
            "kustomization.yaml": "resources: [a.yaml]\ntransformers: [t]\n"
            "commonAnnotations: {path: 'https://example.test'}\n"
            "configMapGenerator: [{name: c, literals: ['a=https://example.test']}]\n",
        },
    )
    assert ([], 0) == ((done := run(tmp_path, ".", "-o", "json", "--schemas-only")).ids, done.code)


@pytest.mark.parametrize("text", ["a: [", "a: !!binary aHR0cDovLzEyNy4wLjAuMQ==\n", "a: 1\na: 2\n", "\0"])
def test_what_cannot_be_read_is_not_built(tmp_path: Path, text: str) -> None:
    """Where we read less than kustomize does nobody can tell what it would ask for."""
    write(
        tmp_path,
        {"one/kustomization.yaml": "resources: [../two]\nnamePrefix: b-\n", "two/kustomization.yaml": text},
    )
    (found,) = run(tmp_path, "one", "-o", "json", "--schemas-only").json["problems"]
    assert (found["id"][:4], "two/kustomization.yaml") == ("YAML", found["file"])


@pytest.mark.tools
def test_links_are_for_kustomize_to_judge(tmp_path: Path) -> None:
    """A link out of the folder is refused as kustomize refuses it; one inside of it is followed."""
    write(
        tmp_path,
        {
            "one/kustomization.yaml": "resources: [l.yaml]\n",
            "one/a.yaml": CONFIG_MAP,
            "secret.yaml": "kind: S3CRET\n",
        },
    )
    link = tmp_path / "one/l.yaml"
    link.symlink_to("a.yaml")
    assert [] == run(tmp_path, "one", "-o", "json", "--schemas-only").ids
    link.unlink()
    link.symlink_to("../secret.yaml")
    done = run(tmp_path, "one", "-o", "json", "--schemas-only")
    assert ["KUS011"] == done.ids
    assert "security; file" in done.out
    assert "S3CRET" not in done.out


@pytest.mark.parametrize("more", ["", "namePrefix: b-\n"])
def test_components_that_include_each_other_twice_end(tmp_path: Path, more: str) -> None:
    """Thirty folders of two lines stand for a thousand million, whoever builds them."""
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    files = {
        f"c{n}/kustomization.yaml": f"{component}components: [../c{n + 1}, ../c{n + 1}]\n" for n in range(30)
    }
    files["c30/kustomization.yaml"] = f"{component}namePrefix: c-\n"
    files["top/kustomization.yaml"] = f"resources: [a.yaml]\ncomponents: [../c0, ../c0]\n{more}"
    write(tmp_path, {"top/a.yaml": CONFIG_MAP, **files})
    assert ["KUS021", "KUS003"] == run(tmp_path, "top", "-o", "json").ids


@pytest.mark.tools
def test_transformers_in_a_folder_with_other_metadata_are_built(tmp_path: Path) -> None:
    """A namespace, prefixes and labels of a configuration change no path in it."""
    tag = "apiVersion: builtin\nkind: ImageTagTransformer\nmetadata: {name: a}\nimageTag: {name: a}"
    other = "namespace: a\nnamePrefix: a-\nnameSuffix: -b\ncommonLabels: {a: b}\ncommonAnnotations: {a: b}\n"
    write(
        tmp_path,
        {
            "one/kustomization.yaml": "resources: [a.yaml]\ntransformers: [../tags]\n",
            "one/a.yaml": BAD_CONFIG_MAP,
            "tags/kustomization.yaml": f"resources: [tag.yaml]\n{other}",
            "tags/tag.yaml": tag,
        },
    )
    assert ["SCHEMA003"] == run(tmp_path, "one", "-o", "json", "--schemas-only").ids
