"""`slicewright explain`: where each number of a workload comes from."""

import sys

import click

from slicewright.catalogue.catalogue import Catalogue
from slicewright.check.io.meaning import ids
from slicewright.cli import show
from slicewright.cli.checkout import open_checkout, workloads_named
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.kubernetes.problem import Problem, counted, errors, in_order
from slicewright.kubernetes.types import plain
from slicewright.rendering.plan.explanation import Fact
from slicewright.rendering.plan.explanation import explain as facts_of
from slicewright.rendering.plans import Planned, plan_all


@command("slicewright explain llama")
@click.argument("name")
@click.option("--sources", is_flag=True, help="Also print the public sources of the TPU shape.")
def explain(name: str, sources: bool, output: str) -> None:
    """Show where each number of a workload comes from.

    NAME is a workload, as name or namespace/name. For a sweep, its entries are listed, with their runs and
    their values of the matrix; SWEEP/ENTRY explains one entry.
    """
    if name.isupper() and name in ids():
        hint = f"did you mean: slicewright rule {name}"
        raise show.unknown(f"'{name}' is an id, and no workload has it", hint)
    checkout = open_checkout()
    chosen = workloads_named([name], checkout.repository) or frozenset()
    planned, planning = plan_all(checkout.repository)
    known = checkout.repository.package.catalogue
    subjects = {f"TPUWorkload {key}" for key in chosen}
    subjects |= {defaults.source.subject for defaults in checkout.repository.levels.documents}
    shown = [entry for entry in planned if entry.workload.key in chosen]
    problems = [problem for problem in in_order(planning) if problem.object in subjects]
    if not shown and not errors(problems):
        # Nothing is wrong with the workload itself: then its cluster's file is wrong.
        problems = list(in_order(planning))
    if output == "json":
        # Where numbers are missing, the problems say why.
        listed = [_record(entry, problems, known) for entry in shown]
        wrong = bool(errors(problems))
        show.as_json({"problems": show.records(problems), "workloads": listed} if wrong else listed)
    else:
        is_sweep = any(entry.workload.sweep and entry.workload.declared in chosen for entry in shown)
        if is_sweep:
            _list(shown)
        for entry in () if is_sweep else shown:
            plan = entry.plan
            say(f"{plan.cluster}/{plan.namespace}/{plan.workload}")
            rows = ((fact.what, fact.value, fact.because) for fact in _facts(entry, known))
            show.table(("WHAT", "VALUE", "BECAUSE"), rows, indent="  ")
            if sources and plan.shape.sources:
                say(f"  sources of {plan.shape.topology} on {plan.shape.machine_type}:")
                for source in plan.shape.sources:
                    say(f"    {source}")
        show.messages(problems)
    sys.exit(1 if errors(problems) else 0)


def _list(entries: list[Planned]) -> None:
    rows = []
    for entry in entries:
        plan, sweep = entry.plan, entry.workload.sweep
        values = " ".join(f"{name}={value}" for name, value in entry.workload.matrix.get("env", {}).items())
        tpu = f"{counted(plan.slices, 'slice')} of {plan.shape.topology}"
        run = f"{plan.cluster}/{plan.namespace}/{plan.name}"
        rows.append((sweep.entry if sweep else "", run, tpu, values))
    show.table(("ENTRY", "RUN", "TPU", "VARIABLES"), rows)


def _facts(entry: Planned, known: Catalogue) -> tuple[Fact, ...]:
    if entry.workload.tpu is None:
        return facts_of(entry.plan, entry.workload, ())
    return facts_of(entry.plan, entry.workload, known.same_count(entry.plan.shape))


def _record(entry: Planned, problems: list[Problem], known: Catalogue) -> dict[str, object]:
    plan = entry.plan
    own = [problem for problem in problems if problem.object == f"TPUWorkload {entry.workload.key}"]
    return {
        "cluster": plan.cluster,
        "namespace": plan.namespace,
        "workload": plan.workload,
        "name": plan.name,
        "shape": plan.shape.record() if plan.shape.chips else None,
        "facts": plain(_facts(entry, known)),
        "problems": show.records(own),
    }
