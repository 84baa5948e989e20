"""Speed of the loss-network policies: events per CPU-second, medians over repetitions.

Run as ``python benchmarks/loss_network.py``; each line times a policy with its counts on one list.
Nothing is asserted: what a machine reaches is read from the table.
"""

import argparse
import resource
import statistics
import time

import numpy as np

from queuebench.loss_network.events import draw_events, measured_span
from queuebench.loss_network.model import LossNetwork
from queuebench.loss_network.online import online_optimum
from queuebench.loss_network.path import count_path
from queuebench.loss_network.policies import policies
from queuebench.loss_network.relaxation import lookahead_gain_bound
from queuebench.loss_network.single_use import single_use
from queuebench.loss_network.study import run_path

RATES = {"high_rate": 0.7, "low_rate": 0.6, "service_rate": 1.0}
REWARDS = {"high_reward": 2.0, "low_reward": 1.0}
GRID = (1, 4, 8, 16, 32)


def median_time(run, repeats):
    """Return the median CPU time of a call, after one that compiles and warms up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def report(servers, what, count, seconds):
    """Print one line of the table."""
    print(f"{servers:>8} {what:<24} {count / seconds / 1e6:>10.1f} {seconds / count * 1e9:>10.1f}")


def time_policies(servers, count, repeats):
    """Time every policy on one event list, without and with its largest windows."""
    network = LossNetwork(servers, **RATES, **REWARDS)
    report(servers, "draw", count, median_time(lambda: draw_events(network, count, 1, 0), repeats))
    events = draw_events(network, count, 1, 0)
    start, stop = np.searchsorted(events.time, measured_span(network, events, GRID), side="right")
    for name, entry in policies().items():
        for multiplier in GRID if entry.lookahead == "window" else (None,):
            window = None if multiplier is None else network.window(multiplier)

            def run(entry=entry, window=window):
                count_path(events, entry.run(network, events, window), start, stop)

            label = name if multiplier is None else f"{name} c={multiplier}"
            report(servers, label, count, median_time(run, repeats))
    for multiplier in GRID[:3]:
        window = network.window(multiplier)

        def bound(window=window):
            lookahead_gain_bound(network, events, window, start, stop)

        report(servers, f"upper bound c={multiplier}", count, median_time(bound, 1))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", type=int, nargs="+", default=[16, 1024, 4096])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print(f"{'servers':>8} {'what':<24} {'million/s':>10} {'ns/event':>10}")
    for servers in args.servers:
        time_policies(servers, args.events, args.repeats)
        network = LossNetwork(servers, **RATES, **REWARDS)
        whole = median_time(lambda n=network: run_path(n, 0, 1, args.events, GRID), 1)
        report(servers, "run_path, all rows", args.events, whole)
    for servers in (4096, 10**6):
        network = LossNetwork(servers, **RATES, **REWARDS)
        seconds = median_time(lambda n=network: online_optimum(n), args.repeats)
        print(f"{servers:>8} online optimum: {seconds:.4f} s")
    network = LossNetwork(1024, **RATES, **REWARDS)
    seconds = median_time(lambda: single_use(network), args.repeats)
    print(f"{1024:>8} single use: {seconds:.3f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
