"""Values of the options of `slicewright rehearse`, and which options go together."""

from __future__ import annotations

import math
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from slicewright.cli import show
from slicewright.document.io import read_file
from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.clock import Override, read_override
from slicewright.rehearse.model.prices import Prices, read_prices
from slicewright.rehearse.model.time_span import is_duration, seconds, why_not

if TYPE_CHECKING:
    from slicewright.rendering.repository import Package

_CORES_PER_BED = 4
"""An API server, a scheduler and the controllers keep four cores busy while pods start."""
_CORES_PER_BED_WITHOUT_PODS = 1
_MAX_BEDS = 8
"""The default starts no more test beds in parallel: each takes 1.5 GB of memory."""

_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")
"""Microseconds of CPU time and of the period that they are for, as a container sees its own limit."""


def cores() -> int:
    """Return how many processors this process may keep busy: its affinity and its container limit them."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0))
    try:
        quota, period = _CPU_LIMIT.read_text(encoding="ascii").split()
        return max(1, min(usable, int(quota) // int(period)))
    except (OSError, ValueError):  # not in a container, or `max`: without a limit
        return usable


def jobs_of(jobs: int | None, *, has_own_beds: bool, has_pods: bool, is_compared: bool) -> int:
    """Return how many rehearsals run in parallel: as requested, else as the cores allow.

    On other systems than Linux it is one: a fork is not safe there. Raises UsageError.
    """
    if jobs is not None and not is_compared:
        raise click.UsageError("--jobs is about comparisons: add --what-if, --sweep, --repeat or --changed")
    if jobs is not None and not has_own_beds:
        raise click.UsageError("--jobs starts several test beds: leave out --keep and --kubeconfig")
    if sys.platform != "linux":
        if (jobs or 1) > 1:
            raise click.UsageError("--jobs needs Linux")
        return 1
    if jobs:
        return jobs
    if not has_own_beds:
        return 1
    per_bed = _CORES_PER_BED if has_pods else _CORES_PER_BED_WITHOUT_PODS
    return max(1, min(_MAX_BEDS, cores() // per_bed))


def check_place(
    kubeconfig: Path | None, context: str | None, *, mark: bool, keep: bool, has_pods: bool
) -> None:
    """Refuse options of an existing cluster without one, and the other way round. Raises UsageError."""
    if kubeconfig is not None and not has_pods:
        raise click.UsageError("--no-pods needs a test bed of our own: leave out --kubeconfig")
    if kubeconfig is not None and keep:
        raise click.UsageError("--keep is about a test bed of our own; a cluster that runs already stays")
    if kubeconfig is None and (context or mark):
        message = "--context and --mark are about an existing cluster: add --kubeconfig FILE"
        raise click.UsageError(message)
    if kubeconfig is not None and not context:
        message = "name the context of the kubeconfig file, so that no other is meant: --context NAME"
        raise click.UsageError(message)


def check_comparison(
    variants: tuple[str, ...], sweep: str | None, repeat: int, changed: str | None, output: str
) -> None:
    """Refuse options of variants that are empty, alone, or contradict each other. Raises UsageError."""
    is_varied = bool(variants or sweep or repeat > 1)
    needs = {"--sweep": (sweep, "a path and numbers"), "--changed": (changed, "a revision")}
    for option, (value, needed) in needs.items():
        if value == "":
            raise click.UsageError(f"{option} needs {needed}, and this one is empty: is a variable unset?")
    if changed is not None and (variants or sweep):
        raise click.UsageError("--changed has variants of its own: leave out --what-if and --sweep")
    source = click.get_current_context().get_parameter_source("worse_than")
    if changed is None and source is ParameterSource.COMMANDLINE:
        raise click.UsageError("--worse-than is about a change: add --changed")
    if (changed is not None or is_varied) and output == "junit":
        raise click.UsageError("-o junit has no form for variants or repetitions: use -o json")


class Duration(click.ParamType[float]):
    """A time span such as 90s or 1h30m, as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        if not is_duration(str(value)):
            self.fail(why_not(str(value)), param, ctx)
        return seconds(str(value))


class Speed(click.FloatRange):
    """Seconds of the rehearsal in one of real time."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the speed. Refuse NaN, which FloatRange accepts."""
        speed = float(super().convert(value, param, ctx))
        if math.isnan(speed):
            self.fail(f"'{value}' is not a number", param, ctx)
        return speed


class Span(click.ParamType[Override]):
    """A time span for one workload, or for all."""

    name = "[[namespace/]name=]duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Override:
        """Read `[[namespace/]name=]duration`."""
        span = value if isinstance(value, Override) else read_override(str(value))
        if span is None:
            self.fail(f"'{value}' is not a time span; write for example 90s or my-workload=1h30m", param, ctx)
        return span


def more_than_none(_ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Refuse the value 0. Raises UsageError."""
    if value == 0:
        raise click.UsageError(f"--{param.name} 0s leaves no time to simulate")
    return value


class Share(click.ParamType[float]):
    """A share such as 20%, as a number: 0.2."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)%", str(value).strip(), re.ASCII)
        if not match:
            self.fail(f"'{value}' is not a percentage; write for example 20%", param, ctx)
        return float(match[1]) / 100


def prices_of(path: Path, package: Package) -> Prices:
    """Return the prices of a file, or end the command with its problems."""
    text = read_file(path, str(path))
    if isinstance(text, Problem):
        show.stop((text,))
    documents, problems = read_documents(text, str(path))
    if len(documents) != 1:
        message = "a file of prices holds one document"
        hint = "write one YAML document with currency and prices"
        show.stop(problems or (Problem("IN007", message, hint, file=str(path)),))
    source = Source(SourceFile(str(path), text), documents[0])
    prices = read_prices(source, package.schemas, package.catalogue)
    if not isinstance(prices, Prices):
        show.stop(prices)
    return prices
