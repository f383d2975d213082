"""Each rule that has a fix is content with the file that its fix makes."""

from pathlib import Path
from typing import Any

import pytest
from tests.check.kit import run
from tests.check.rules.kit import BAD, Fixture

from slicewright.check.io.meaning import rule_subjects

_FIXED = {one.id for subject in rule_subjects() for one in subject.meanings if one.fix}


def _report(folder: Path, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run(folder, "a.yaml", "-o", "json", "--gitops", *options).json["problems"]
    return found


def _errors(problems: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(one["id"], one["path"]) for one in problems if one["severity"] == "error"}


@pytest.mark.slow
@pytest.mark.parametrize("fixture", [one for one in BAD if one.rule in _FIXED], ids=str)
def test_fix_leaves_no_such_finding_and_no_new_error(tmp_path: Path, fixture: Fixture) -> None:
    """After all fixes nothing is left to fix, and the API server refuses nothing that it took before."""
    (tmp_path / "a.yaml").write_text(fixture.text, encoding="utf-8")
    before = _report(tmp_path)

    left = _report(tmp_path, "--fix", "--unsafe")

    own = [one for one in left if one["id"] == fixture.rule]
    assert [] == [one["path"] for one in own if "fixes" in one]
    assert set() == _errors(left) - _errors(before)
    assert 0 == run(tmp_path, "a.yaml", "--diff", "--unsafe", "--gitops").code
