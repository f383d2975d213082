"""What is broken in a way that has a fix is right again after `--fix`, and nothing else has changed."""

import difflib
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import share

from .kit import run

GOOD = Path(__file__).with_name("good.yaml").read_text(encoding="utf-8")
EXCLUSIVE = """\
      metadata:
        annotations:
          alpha.jobset.sigs.k8s.io/exclusive-topology: cloud.google.com/gke-nodepool
"""
MISTAKES = {
    "a misspelt apiVersion": ("apiVersion: jobset", "apiversion: jobset"),
    "v1beta1": ("v1beta2", "v1beta1"),
    "the fields of v1beta1": ("cohortName:", "cohort:"),
    "an order of resources": ('["google.com/tpu"]\n', '["google.com/tpu"]   # all\n'),
    "another enum value": ("BestEffortFIFO", "besteffortfifo"),
    "a misspelt reason": ("[BackoffLimitExceeded]", "[BackoffLimitsExceeded]"),
    "no name of a failure rule": ("    - name: failurePolicyRule0\n      action", "    - action"),
    "no groupName": ("    groupName: default\n", ""),
    "no exclusive placement": (EXCLUSIVE, ""),
    "no completionMode": ("        completionMode: Indexed\n", ""),
    "another completionMode": ("completionMode: Indexed", "completionMode: NonIndexed"),
    "other counts": ("completions: 4\n        parallelism: 4", "completions: 2\n        parallelism: 2"),
    "no completions": ("        completions: 4\n", ""),
    "no restartPolicy": ("            restartPolicy: OnFailure\n", ""),
    "a small restartPolicy": ("restartPolicy: OnFailure", "restartPolicy: onfailure"),
    "no dnsPolicy": ("            dnsPolicy: ClusterFirstWithHostNet\n", ""),
    "a label that GKE does not have": ("gke-tpu-topology", "tpu-topology"),
    "another name of the TPU": (
        "gke-tpu-accelerator: tpu-v5-lite-podslice\n   ",
        "gke-tpu-accelerator: tpu-v5e-slice\n   ",
    ),
    "no protocol": (", protocol: TCP", ""),
    "a number as a text": ('value: "100"', "value: 100"),
    "text as a number": ("replicas: 2", 'replicas: "2"'),
    "no limits": ("                limits:\n                  google.com/tpu: 4\n", ""),
    "other chips": ("google.com/tpu: 4", "google.com/tpu: 8"),
    "suspended": ("  failurePolicy:", "  suspend: true\n  failurePolicy:"),
    "a namespace": ("  name: research\n", "  name: research\n  namespace: a\n"),
    "a quantity": ("nominalQuota: 32", 'nominalQuota: "32000m"'),
    "a null": ("  failurePolicy:", "  network:\n  failurePolicy:"),
}
KEYS = sorted(set(re.findall(r"^ *(?:- )?([A-Za-z]{6,}):", GOOD, re.MULTILINE)))


@st.composite
def broken(draw: st.DrawFn) -> str:
    """Draw the good file with some of the mistakes, and perhaps a misspelt key."""
    text = GOOD
    for name in draw(st.sets(st.sampled_from(sorted(MISTAKES)), max_size=4)):
        text = text.replace(*MISTAKES[name])
    if draw(st.booleans()):
        key = draw(st.sampled_from(KEYS))
        at = draw(st.integers(1, len(key) - 1))
        wrong = draw(st.sampled_from([key[:at] + key[at + 1 :], key[:at] + key[at] + key[at:]]))
        text = re.sub(rf"\b{key}:", f"{wrong}:", text, count=1)
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_mended(tmp_path: Path, mistake: str) -> None:
    """One mistake is found, fixed, and leaves no finding; the lines around it are as they were."""
    text = GOOD.replace(*MISTAKES[mistake])
    assert text != GOOD

    _mended(tmp_path, text)


@pytest.mark.slow
@settings(derandomize=True, max_examples=share(60), deadline=None)
@given(text=broken())
def test_mistakes_are_mended_together(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Of whatever mistakes come together, none is left, and no other finding comes."""
    _mended(tmp_path_factory.getbasetemp(), text)


def _mended(folder: Path, text: str) -> None:
    file = folder / "a.yaml"
    file.write_bytes(text.encode())

    done = run(folder, "a.yaml", "--fix", "--gitops", "-o", "json")

    assert (0, []) == (done.code, done.json["problems"])
    fixed = file.read_bytes().decode()
    assert 0 == run(folder, "a.yaml", "--diff", "--gitops").code
    # What no mistake touched has its lines still, in the same bytes and order.
    known = set(GOOD.split("\n")) | set(GOOD.replace("\n", "\r\n").split("\n"))
    kept = [line for line in text.split("\n") if line in known]
    assert [] == [line for line in difflib.ndiff(kept, fixed.split("\n")) if line.startswith("- ")]
