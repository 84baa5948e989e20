"""The command line: the pipeline's functions for a person at a terminal."""

import argparse
import json
import sys

from queuebench.checks import check_cell
from queuebench.config import Study, StudyError, load_study, resolve
from queuebench.reference import study_reference
from queuebench.trace import TraceError


def main(arguments=None):
    """Run a command; return the exit status: 0, or 2 for what the user can put right."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        chosen.run(chosen)
    except (StudyError, TraceError) as error:
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
    replicate.add_argument("--trace", default="replicate.arrow", help="where to write the trace")
    replicate.set_defaults(run=_replicate)

    schema = commands.add_parser("schema", help="print the JSON schema of a study, for editors")
    schema.set_defaults(run=lambda _: print(study_schema()))

    keys = commands.add_parser("keys", help="print the keys of a study as Markdown tables")
    keys.set_defaults(run=lambda _: print(study_reference()))
    return parser


def study_schema():
    """Return the JSON schema of a study as text."""
    return json.dumps(Study.model_json_schema(), indent=2)


def _replicate(chosen):
    from queuebench.estimation import estimate_trace
    from queuebench.experiment import simulate_batch

    cell = _find(
        {cell.name: cell for cell in resolve(load_study(chosen.configfile))}, chosen.cell, "cell"
    )
    check_cell(cell)
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


def _find(known, name, what):
    if name not in known:
        raise StudyError(f"--{what}: there is no {what} {name}; known are {', '.join(known)}")
    return known[name]
