"""Checked documents become values."""

from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.intent.tpuworkload import Workload, decode_workload

from .kit import SCHEMAS, WORKLOAD


def workload(spec: str) -> Workload:
    """Return the TPUWorkload with some lines below its spec."""
    (document,), _ = read_documents(WORKLOAD + spec, "a.yaml")
    assert SCHEMAS.accepts("slicewright/tpuworkload.json", document.data)
    return decode_workload(Source(SourceFile("a.yaml", WORKLOAD + spec), document))


def test_exit_codes_are_in_order_and_each_once() -> None:
    """Codes and ranges of codes may overlap."""
    found = workload('  failurePolicy: {restartOnExitCodes: [42, "5-7", 6, "40-42"]}\n')

    assert [5, 6, 7, 40, 41, 42] == found.failure_policy.exit_codes
