"""Argo CD's health checks on living objects, state by state, as their controllers write them."""

from collections.abc import Callable, Iterator

import pytest
from tests.health import lua, objects, scenes
from tests.health.fixtures import expected, steady
from tests.health.journal import Journal
from tests.health.questions import suspends
from tests.resolved import resolve_text

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from . import kit

OFTEN = ("jobset_in_a_queue", "evictions", "cluster_queues")
"""Those that `make test` plays, too."""


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(scene, id=scene.__name__, marks=[] if scene.__name__ in OFTEN else [pytest.mark.ci])
        for scene in scenes.SCENES
    ],
)
def test_scene(scene: Callable[[Bed, Journal], Iterator[tuple[str, Object]]], bed: Bed) -> None:
    """Objects go through the states of the fixtures, and have the health that is written down for each."""
    said = {}
    with Journal(bed, *scenes.KINDS) as seen:
        for state, item in scene(bed, seen):
            made = lua.health(item)
            said[state] = {"status": made.status, "message": steady(made.message)}

    assert expected()[scene.__name__] == said


def test_actions_fight_kueue(bed: Bed) -> None:
    """What Argo CD's actions Resume and Suspend write, Kueue takes back: a Job runs when it has quota."""
    bed.add_nodes(resolve_text(objects.CLUSTER))
    objects.queues(bed, "team-r", 4, stopPolicy="Hold")
    with Journal(bed, kit.JOB) as seen:
        bed.api.create(objects.job("moved", "team-r"))
        queued = seen.first(kit.JOB, "moved", suspends(condition=True))

        objects.set_spec(bed, kit.JOB, "moved", "default", suspend=False)
        resumed = seen.first(kit.JOB, "moved", lambda item: not item["spec"]["suspend"], after=queued)
        back = seen.first(kit.JOB, "moved", suspends(condition=True), after=resumed)

        objects.set_spec(bed, objects.CLUSTER_QUEUE, "team-r-cq", stopPolicy="None")
        running = seen.first(kit.JOB, "moved", lambda item: item["status"].get("ready"), after=back)

        objects.set_spec(bed, kit.JOB, "moved", "default", suspend=True)
        stopped = seen.first(kit.JOB, "moved", suspends(condition=False), after=running)
        again = seen.first(kit.JOB, "moved", lambda item: item["status"].get("ready"), after=stopped)

    assert [True, False] == [queued["spec"]["suspend"], again["spec"]["suspend"]]
