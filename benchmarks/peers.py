"""The same queues in Ciw, SimPy, cimba and here: means must agree, speeds are printed.

Run as ``python -m benchmarks.peers`` after ``pip install '.[peers]'``; a library that is not
installed is left out. The workload is the homogeneous cell of the default study: 20 servers, Poisson
arrivals at load 0.9, exponential service; a coin sends each job to the shortest of two or of three servers.
All but queuebench start empty and record nothing but the mean response.
"""

import argparse
import importlib
import importlib.util
import math
import random
import statistics
import sys
import time

from benchmarks.measure import machine, print_table
from benchmarks.queueing import cells_of
from queuebench.pipeline.stages.build import Setup
from queuebench.queueing.simulation import Workspace

SERVERS, LOAD = 20, 0.9
RATE = SERVERS * LOAD
REPLICATES = 8
# Arrivals in each replicate: about a second or two of each library.
ARRIVALS = {"queuebench": 2_000_000, "cimba": 500_000, "simpy": 30_000, "ciw": 5_000}
NAMES = {"queuebench": "queuebench", "cimba": "cimba", "simpy": "SimPy", "ciw": "Ciw"}
TOLERATED = 4.0
"""Standard errors of the difference of means; the warm-up biases the short runs a little, too."""

_WORKSPACE = Workspace()


def run_queuebench(arrivals, seed):
    """Simulate here, with everything a trace holds; return mean response and arrivals."""
    study = {
        "seed": 1,
        "warmup": 0.0,
        "system": {"servers": SERVERS, "loads": [LOAD]},
        "scenarios": {"one": {}},
    }
    (cell,) = cells_of(study)
    run = Setup(cell, "bernoulli").replicate(seed, _WORKSPACE)
    total = sum(block.response_time.sum() for block in run.blocks(arrivals=arrivals))
    return total / arrivals, arrivals


def run_cimba(arrivals, seed):
    """Simulate with cimba."""
    from benchmarks.cimba_farm import run

    return run(RATE, arrivals, seed)


def run_simpy(arrivals, seed):
    """Simulate with SimPy."""
    import simpy

    rng = random.Random(seed)
    env = simpy.Environment()
    servers = [simpy.Resource(env) for _ in range(SERVERS)]
    responses = []

    def job(server):
        arrival = env.now
        with server.request() as turn:
            yield turn
            yield env.timeout(rng.expovariate(1.0))
        responses.append(env.now - arrival)

    def source():
        for _ in range(arrivals):
            yield env.timeout(rng.expovariate(RATE))
            sample = rng.sample(servers, 2 + (rng.random() < 0.5))
            env.process(job(min(sample, key=lambda server: server.count + len(server.queue))))

    env.process(source())
    env.run()
    return statistics.fmean(responses), arrivals


def run_ciw(arrivals, seed):
    """Simulate with Ciw: a node that takes no time sends each customer on."""
    import ciw

    class Dispatch(ciw.routing.NodeRouting):
        def next_node(self, individual):
            sample = random.sample(
                self.simulation.transitive_nodes[1:], 2 + (random.random() < 0.5)
            )
            return min(sample, key=lambda node: node.number_of_individuals)

    leave = [ciw.routing.Leave() for _ in range(SERVERS)]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(RATE), *[None] * SERVERS],
        service_distributions=[
            ciw.dists.Deterministic(0.0),
            *[ciw.dists.Exponential(1.0)] * SERVERS,
        ],
        number_of_servers=[math.inf, *[1] * SERVERS],
        routing=ciw.routing.NetworkRouting(routers=[Dispatch(), *leave]),
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(arrivals, method="Finish")
    records = [record for record in simulation.get_all_records() if record.node > 1]
    return statistics.fmean(r.exit_date - r.arrival_date for r in records), len(records)


RUNS = {"queuebench": run_queuebench, "cimba": run_cimba, "simpy": run_simpy, "ciw": run_ciw}


def measure(name):
    """Return the mean response, its standard error, and the median CPU ns per arrival."""
    means, costs = [], []
    for seed in range(REPLICATES + 1):
        begin = time.process_time()
        mean, arrivals = RUNS[name](ARRIVALS[name], seed)
        costs.append((time.process_time() - begin) / arrivals * 1e9)
        means.append(mean)
    # The first one compiled.
    means, costs = means[1:], costs[1:]
    error = statistics.stdev(means) / math.sqrt(REPLICATES)
    return statistics.fmean(means), error, statistics.median(costs)


def main():
    """Print the table; fail if means disagree."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    found = [name for name in RUNS if importlib.util.find_spec(name)]
    # cimba's compiler must be there before numba compiles anything.
    for name in found:
        importlib.import_module(name)
    for name in sorted(set(RUNS) - set(found)):
        print(f"{name} is not installed")
    results = {name: measure(name) for name in found}
    ours = results["queuebench"]
    rows = [
        (NAMES[name], f"{mean:.4f} ± {error:.4f}", 1e9 / cost, cost, cost / ours[2])
        for name, (mean, error, cost) in results.items()
    ]
    print(f"Machine: {machine()}")
    print_table(
        "20 servers at load 0.9, shortest of two or three",
        (
            "library",
            "mean response",
            "arrivals per CPU second",
            "ns per arrival",
            "times queuebench",
        ),
        rows,
        "python -m benchmarks.peers",
    )
    for name, (mean, error, _) in results.items():
        if abs(mean - ours[0]) > TOLERATED * math.hypot(error, ours[1]):
            sys.exit(f"the mean response of {NAMES[name]} disagrees with queuebench's")


if __name__ == "__main__":
    main()
