"""What keeps a name from being a DNS-1035 label, and what the hint proposes instead."""

from typing import Any

import pytest
from tests.check.kit import jobset
from tests.check.rules.kit import object_set, run

from slicewright.check.rules.dns import against_dns1035
from slicewright.check.rules.every import RULES

SHORTEN = "shorten the name of the JobSet or of the replicatedJob"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("train-1", ""),
        ("Train", "has 'T', which is not a lower-case letter, digit or hyphen"),
        ("train_a.b", "has '_', which is not a lower-case letter, digit or hyphen"),
        ("train a", "has ' ', which is not a lower-case letter, digit or hyphen"),
        ("1-train", "must begin with a letter, not with '1'"),
        ("-train", "must begin with a letter, not with '-'"),
        ("train-", "must end with a letter or digit, not with a hyphen"),
        ("", "must not be empty"),
        ("a" * 64, "has 64 characters; the limit is 63"),
    ],
)
def test_message_names_the_character(name: str, said: str) -> None:
    """Which character is wrong, or at which end, is said; nothing of a name that is right."""
    assert said == against_dns1035(name)


@pytest.mark.parametrize(
    ("name", "replicated_job", "hint"),
    [
        ("Train_A", "slice", "rename the JobSet, for example 'train-a'"),
        ("--", "slice", "rename the JobSet"),
        ("train", "Slice.a", "rename the replicatedJob, for example 'slice-a'"),
        ("a" * 60, "slice", SHORTEN),
        ("a" * 60, "0", SHORTEN),
    ],
)
def test_hint_says_which_name_to_change(name: str, replicated_job: str, hint: str) -> None:
    """The Job is called by both; the one with the wrong character is named, else the name is too long."""
    data: dict[str, Any] = jobset()
    data["metadata"]["name"] = name
    data["spec"]["replicatedJobs"][0]["name"] = replicated_job

    found = run(object_set(data), [rule for rule in RULES if rule.id == "JS101"])

    assert [hint] == [problem.hint for problem in found]
