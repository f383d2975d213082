"""docs/troubleshooting.md shows messages as the commands print them."""

import re

import pytest
from tests.docs.transcript import DOCS, Shell

TEXT = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
HELLO = "workloads/hello.yaml"
SYMPTOMS = {
    "A queue that does not exist": f"sed -i 's/queueName: team/&s/' {HELLO}; slicewright render",
    "A run that never fits": f"sed -i 's/^  tpu: .*/&\\n  slices: 5/' {HELLO}; slicewright render",
    "A topology that does not exist": f"sed -i 's/v5litepod-8/v5p-2x2x3/' {HELLO}; slicewright render",
    "A run without TPUs": f"sed -i '/^  tpu:/d' {HELLO}; slicewright render",
    "Too many runs would end": (
        f'for n in 1 2 3; do sed "s/name: hello/name: s$n/" {HELLO} > workloads/s$n.yaml; done; '
        "slicewright render; rm workloads/*; slicewright render"
    ),
    "Another version of slicewright": "sed -i 's/~=[0-9.]*/~=0.3.0/' slicewright.yaml; slicewright render",
    "The tree is not rendered": f"sed -i 's/python -c/exec &/' {HELLO}; slicewright render --check",
    "A frozen run was edited": "sed -i s/3.12/3.13/ overlays/*/*/hello/hello-*; slicewright render",
    "A rehearsal does not start": "SLICEWRIGHT_CACHE=$PWD/none slicewright rehearse",
}
"""What makes a symptom, by the heading of its section."""


@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.parametrize("heading", SYMPTOMS)
def test_message_is_what_the_command_prints(heading: str, shell: Shell) -> None:
    """Whoever searches for a message finds its words."""
    section = re.split(r"^##+ ", TEXT.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    (message,) = re.findall(r"^```text\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)

    assert message in shell.run(SYMPTOMS[heading])[1]
