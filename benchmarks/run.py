"""Print what simulation, estimation and jobs cost, as Markdown; run as ``python -m benchmarks.run``.

Nothing is asserted: what a machine reaches is read from the tables.
"""

import argparse
import subprocess
import sys

from benchmarks import jobs, queueing
from benchmarks.measure import machine

STUDY = "config/config.yaml"
SECTIONS = ("scenarios", "policies", "estimators", "loss", "start-up", "memory", "efficiency")


def main():
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "sections", nargs="*", default=SECTIONS, metavar="section", help=str(SECTIONS)
    )
    parser.add_argument("--study", default=STUDY)
    parser.add_argument("--arrivals", type=int, default=100_000)
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--billion", default="benchmarks/billion.yaml", help="run for efficiency")
    parser.add_argument("--replicates", type=int, help="efficiency: instead of the study's own")
    args = parser.parse_args()
    print(f"Machine: {machine()}")
    for section in args.sections:
        command = f"python -m benchmarks.run {section}"
        if section == "scenarios":
            command += f" --arrivals {args.arrivals}"
            queueing.scenario_table(args.study, args.arrivals, args.load, args.repeats, command)
        elif section == "policies":
            queueing.policy_table(args.arrivals, args.repeats, command)
        elif section == "estimators":
            queueing.estimator_table(args.study, args.arrivals, args.repeats, command)
        elif section == "loss":
            _print_loss_network()
        elif section == "start-up":
            jobs.start_up_table(args.repeats, command)
        elif section == "memory":
            jobs.memory_table(command)
        elif section == "efficiency":
            if args.replicates:
                command += f" --replicates {args.replicates}"
            jobs.efficiency_table(args.billion, args.cores, args.replicates, command)
        else:
            parser.error(f"there is no section {section}; the sections are {', '.join(SECTIONS)}")


def _print_loss_network():
    """Print the loss network's policies, in a process of their own for their memory's sake."""
    command = [sys.executable, "benchmarks/loss_network.py", "--servers", "1024", "4096"]
    print(f"\n### Loss network\n\n`python {' '.join(command[1:])}`\n\n```", flush=True)
    subprocess.run(command, check=True)
    print("```")


if __name__ == "__main__":
    main()
