"""The command line: the pipeline's functions for a person at a terminal."""

import argparse
import contextlib
import json
import math
import sys
from functools import partial

from queuebench.base.errors import StudyError
from queuebench.base.progress import Progress
from queuebench.base.stopping import stoppable
from queuebench.estimators import all_estimators
from queuebench.logs.errors import LogError
from queuebench.pipeline.checks import check_cell, check_study
from queuebench.pipeline.cost import describe_cost
from queuebench.pipeline.new_plugin import KINDS, write_plugin
from queuebench.queueing.policies import known_policies, policy
from queuebench.study.cells import load_study, resolve
from queuebench.study.plugins import load_plugins, provided
from queuebench.study.reference import study_reference
from queuebench.study.settings import Study
from queuebench.trace import TraceError


def main(arguments=None):
    """Run a command; return the exit status: 0, or 2 for what the user can put right.

    Raises
    ------
    SystemExit
        With 128 + n if signal n stopped it.
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        with stoppable():
            chosen.run(chosen)
    except (StudyError, TraceError, LogError) as error:
        print(f"queuebench: {error}", file=sys.stderr)
        return 2
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="queuebench", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    replicate = commands.add_parser(
        "replicate", help="simulate a single replicate of a study again and print its estimates"
    )
    replicate.add_argument("--configfile", required=True, help="the study")
    replicate.add_argument("--cell", required=True, help="for example homogeneous-load0.7")
    replicate.add_argument("--design", required=True, help="for example bernoulli")
    replicate.add_argument("--replicate", required=True, type=int, help="its number, from 0")
    replicate.add_argument(
        "--trace",
        default="replicate.arrow",
        help="where to write the trace (Arrow; %(default)s by default)",
    )
    replicate.set_defaults(run=_replicate)

    plan = commands.add_parser(
        "plan",
        help="how long an experiment must run, for each estimator, from a pilot, simulated or your own",
    )
    plan.add_argument("--configfile", help="a study with your servers and policies")
    plan.add_argument("--cell", help="for example homogeneous-load0.7")
    plan.add_argument("--replicates", type=int, help="replicates of the simulated pilot, 50")
    plan.add_argument("--log", help="instead: the log of a pilot, Parquet, Arrow or CSV")
    plan.add_argument("--config", help="what the log's columns mean")
    plan.add_argument("--effect", type=float, help="expected effect, in the log's time unit")
    plan.add_argument("--width", type=float, help="wanted width of a 95 %% interval")
    plan.add_argument(
        "--rmse",
        type=float,
        help="wanted root mean squared error of the effect, by which designs are compared, in the log's time "
        "unit; a tenth of the effect",
    )
    plan.set_defaults(run=_plan)

    analyze = commands.add_parser(
        "analyze", help="estimate the effect from the log of your own experiment"
    )
    analyze.add_argument("log", help="Parquet, Arrow or CSV")
    analyze.add_argument("--config", required=True, help="what the log's columns mean")
    analyze.add_argument("--out", help="folder for report.txt, estimates.csv and findings.csv")
    analyze.set_defaults(run=_analyze)

    check = commands.add_parser(
        "check",
        help="check a study and say what it will cost, or hold a plug-in to what all estimators must keep",
    )
    check.add_argument("plugin", nargs="?", help="a Python file or the name of a module")
    check.add_argument("--configfile", help="instead: the study")
    check.set_defaults(run=_check)

    stale = commands.add_parser(
        "stale", help="list files of the results that a study does not name (any longer)"
    )
    stale.add_argument("--configfile", required=True, help="the study")
    stale.add_argument("--remove", action="store_true", help="remove them, and nothing else")
    stale.set_defaults(run=_stale)

    new = commands.add_parser("new", help="write a plug-in of your own to begin with, and its test")
    new.add_argument("kind", choices=KINDS)
    new.add_argument("name", help="by which a study will name it")
    new.add_argument("--folder", default=".", help="where to (here by default)")
    new.set_defaults(run=_new)

    for name, say, what in (
        ("schema", study_schema, "print the JSON schema of a study, for editors"),
        ("keys", study_reference, "print the keys of a study as Markdown tables"),
    ):
        printed = commands.add_parser(name, help=what)
        printed.add_argument("--configfile", help="a study, whose plug-ins' keys are printed too")
        printed.set_defaults(run=partial(_print, say))
    return parser


def study_schema():
    """Return the JSON schema of a study as text."""
    return json.dumps(Study.model_json_schema(), indent=2)


def _print(say, chosen):
    if chosen.configfile:
        load_study(chosen.configfile)
    print(say())


def _new(chosen):
    for path in write_plugin(chosen.kind, chosen.name, chosen.folder):
        print(path)


def _check(chosen):
    if (chosen.plugin is None) == (chosen.configfile is None):
        raise StudyError("check: give either --configfile and a study, or a plug-in")
    if chosen.plugin is not None:
        return _check_plugin(chosen.plugin)
    study = load_study(chosen.configfile)
    print(describe_cost(study, check_study(study), cores=1))


def _check_plugin(plugin):
    from queuebench.pipeline.contract import check_estimator, check_policy

    load_plugins([plugin])
    modules = provided(plugin)
    found = [(check_estimator, e) for e in all_estimators() if e.function.__module__ in modules]
    policies = map(policy, known_policies())
    found += [(check_policy, entry) for entry in policies if entry.module in modules]
    if not found:
        raise StudyError(f"check: {plugin} registers no estimator and no dispatch policy")
    broken = 0
    for check, entry in found:
        findings = check(entry)
        broken += len(findings)
        print(f"{entry.name}: {len(findings) or 'no'} findings", *findings, sep="\n  ")
    if broken:
        raise StudyError(f"check: {plugin} breaks what others rely on, in {broken} ways")


def _replicate(chosen):
    from queuebench.pipeline.stages.estimate import estimate_trace
    from queuebench.pipeline.stages.simulate import simulate_batch

    cell = _cell(chosen)
    _find(cell.designs, chosen.design, "design")
    if chosen.replicate < 0:
        raise StudyError(f"--replicate: must be 0 or more, got {chosen.replicate}")
    number = range(chosen.replicate, chosen.replicate + 1)
    simulate_batch(cell, chosen.design, number, chosen.trace)
    print(f"{cell.name}, {chosen.design}, replicate {chosen.replicate}: trace in {chosen.trace}")
    print(f"{'estimator':<20}{'horizon':>8}{'estimate':>25}{'standard error':>25}")
    for row in estimate_trace(cell, chosen.design, chosen.trace)[0]:
        horizon = "" if row["horizon"] is None else f"{row['horizon']:g}"
        print(
            f"{row['estimator']:<20}{horizon:>8}{row['estimate']!r:>25}{row['estimate_se']!r:>25}"
        )


def _plan(chosen):
    pilot = _pilot(chosen)
    for name in ("width", "rmse"):
        value = getattr(chosen, name)
        if value is not None and not 0 < value < math.inf:
            raise StudyError(f"--{name}: must be above 0 and finite, got {value:g}")
    pilot(chosen)


def _pilot(chosen):
    """Return which plan the options ask for, and refuse those of the other."""
    ways = {
        _plan_from_study: (("configfile", "cell"), ("log", "config", "effect", "rmse")),
        _plan_from_log: (("log", "config"), ("configfile", "cell", "replicates")),
    }
    both = "give either --configfile and --cell, or --log and --config"
    for way, (wanted, others) in ways.items():
        given = [name for name in wanted if getattr(chosen, name) is not None]
        excess = [f"--{name}" for name in others if getattr(chosen, name) is not None]
        if not given:
            continue
        if excess:
            raise StudyError(f"plan: --{given[0]} and {excess[0]} do not go together; {both}")
        if len(given) < len(wanted):
            (missing,) = set(wanted) - set(given)
            raise StudyError(f"plan: --{given[0]} needs --{missing} too; {both}")
        return way
    raise StudyError(f"plan: {both}")


def _plan_from_study(chosen):
    from queuebench.pipeline.stages.plan import plan_cell, plan_text

    replicates = 50 if chosen.replicates is None else chosen.replicates
    if replicates < 2:
        raise StudyError(f"--replicates: must be 2 or more, got {replicates}")
    cell = _cell(chosen)
    gte, table = plan_cell(
        cell, replicates, chosen.width, lambda line: print(line, file=sys.stderr)
    )
    print(plan_text(cell, gte, table, chosen.width or abs(gte)))


def _plan_from_log(chosen):
    from queuebench.logs import analyze_log
    from queuebench.logs.design_plan import design_text, plan_designs
    from queuebench.logs.plan import plan_log, plan_text

    effect = chosen.effect
    if effect is not None and not 0 < abs(effect) < math.inf:
        raise StudyError(f"--effect: must be a finite number other than 0, got {effect:g}")
    analysis = analyze_log(chosen.log, chosen.config)
    plan = plan_log(analysis, chosen.width, effect)
    unit = analysis.config.time_unit
    print(plan_text(plan, unit, analysis.replicate.arrivals))
    print()
    with _progress("designs") as step:
        designs = plan_designs(analysis, effect, chosen.rmse, step)
    print(design_text(designs, unit))


@contextlib.contextmanager
def _progress(title):
    """Yield what takes the name of the next step, and says it where somebody looks on."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    with Progress(None, title, None) as progress:
        yield progress.step


def _analyze(chosen):
    from queuebench.logs import analyze_log

    print(analyze_log(chosen.log, chosen.config, chosen.out).report())


def _stale(chosen):
    from queuebench.pipeline.at_work import at_work
    from queuebench.pipeline.stale import remove_stale, stale_files

    if chosen.remove and at_work("."):
        raise StudyError("a run is at work in this folder; remove stale files when it has ended")
    for path in (remove_stale if chosen.remove else stale_files)(chosen.configfile):
        print(path)


def _cell(chosen):
    """Return the checked cell that the options name."""
    cells = {cell.name: cell for cell in resolve(load_study(chosen.configfile))}
    cell = _find(cells, chosen.cell, "cell")
    check_cell(cell)
    return cell


def _find(known, name, what):
    if name not in known:
        raise StudyError(f"--{what}: there is no {what} {name}; known are {', '.join(known)}")
    return known[name]
