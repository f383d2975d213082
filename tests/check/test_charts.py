"""A Helm chart is passed by as a whole, with the number of its files."""

from pathlib import Path

from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write

from slicewright.check.passed_by import HELM, TEMPLATE

_CHART = {
    "Chart.yaml": "apiVersion: v2\nname: a\n",
    "values.yaml": "a: [}\n",
    "templates/a.yaml": "{{- if .b }}\n",
    "crds/b.yaml": BAD_CONFIG_MAP,
    "examples/c.yaml": BAD_CONFIG_MAP,
}


def test_chart_is_passed_by_as_a_whole(tmp_path: Path) -> None:
    """A folder with a Chart.yaml is one entry, with the number of its files; what is beside it is checked."""
    write(tmp_path, {f"charts/a/{name}": text for name, text in _CHART.items()})
    write(tmp_path, {"charts/b.yaml": CONFIG_MAP, "c.yaml.tftpl": "${a}"})
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert [
        {"path": "c.yaml.tftpl", "reason": TEMPLATE, "files": 1},
        {"path": "charts/a", "reason": HELM, "files": 5},
    ] == done["summary"]["passedBy"]
    assert ([], 1) == (done["problems"], done["summary"]["objects"])
    assert run(tmp_path, ".", "--schemas-only").out.endswith(
        "passed by: 1 template (c.yaml.tftpl), 1 Helm chart (charts/a, 5 files)\n"
    )


def test_only_charts_are_nothing_to_check(tmp_path: Path) -> None:
    """A check that looked at nothing does not pass, and says how to check charts."""
    write(tmp_path, {"a/Chart.yaml": _CHART["Chart.yaml"]})
    (problem,) = run(tmp_path, ".", "-o", "json").json["problems"]

    assert ("FILE006", "render its Helm charts: --helm") == (problem["id"], problem["hint"])


def test_repository_may_be_a_chart_and_hold_more(tmp_path: Path) -> None:
    """Of a chart at the path itself only what Helm reads is passed by."""
    write(tmp_path, _CHART)
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert ["examples/c.yaml"] == [problem["file"] for problem in done["problems"]]
    assert [{"path": ".", "reason": HELM, "files": 4}] == done["summary"]["passedBy"]


def test_charts_of_a_chart_are_passed_by_as_a_whole(tmp_path: Path) -> None:
    """A chart in a folder that Helm does not read of the one at the path is one of its own."""
    write(tmp_path, _CHART)
    write(tmp_path, {f"apps/a/{name}": text for name, text in _CHART.items()})
    write(tmp_path, {f"charts/b/{name}": text for name, text in _CHART.items()})
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert ["examples/c.yaml"] == [problem["file"] for problem in done["problems"]]
    assert [
        {"path": ".", "reason": HELM, "files": 9},
        {"path": "apps/a", "reason": HELM, "files": 5},
    ] == done["summary"]["passedBy"]
