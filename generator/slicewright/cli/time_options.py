"""Times and speeds on the command line of `slicewright rehearse`."""

import math
import re
from typing import Any

import click

from slicewright.rehearse.model.clock import Override, read_override
from slicewright.rehearse.model.time_span import is_duration, seconds, why_not


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
    """Return a value that is not 0. Raises UsageError."""
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
