"""Ask a person for what no option says; without a terminal it is an error that names the option."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.project.repository_reader import Checkout


def can_ask() -> bool:
    """Tell whether a person sits at a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def choice(noun: str, names: list[str]) -> str:
    """Return one of some names. Raises UsageError without a terminal."""
    if not can_ask():
        raise click.UsageError(f"name a {noun} with --{noun}: {', '.join(names)}")
    answer: str = click.prompt(noun.capitalize(), type=click.Choice(names))
    return answer


def image() -> str:
    """Return the image of the container. Raises UsageError without a terminal."""
    if not can_ask():
        raise click.UsageError("Missing option '--image'.")
    answer: str = click.prompt("Image of the container")
    return answer


def pathways_version() -> str:
    """Return the tag of the Pathways images. Raises UsageError without a terminal."""
    if not can_ask():
        raise click.UsageError(
            "--pathways needs --pathways-version: the version of JAX in the image, such as jax-0.9.2"
        )
    answer: str = click.prompt("Tag of the Pathways images, jax-VERSION: the version of JAX in the image")
    return answer


def program() -> tuple[str, ...]:
    """Return the command of the container; empty for the command of its image."""
    answer: str = click.prompt("Command, or nothing for that of the image", default="", show_default=False)
    try:
        return tuple(shlex.split(answer))
    except ValueError as error:  # a quote that does not end
        raise click.UsageError(f"the command is not one of a shell: {error}") from None


def tpu(checkout: Checkout, clusters: Iterable[str]) -> str:
    """Return the TPU of the run, from what all of the clusters have. Raises UsageError without a terminal."""
    if not can_ask():
        raise click.UsageError("Missing option '--tpu', or '--cpu' for a run without TPUs.")
    sites = [checkout.repository.sites[name] for name in clusters if name in checkout.repository.sites]
    names = [{shape.count_name for _, shape in site.pools} for site in sites]
    known = sorted(set.intersection(*names)) if names else []
    answer: str = click.prompt("TPU", type=click.Choice(known) if known else str)
    return answer
