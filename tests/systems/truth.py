"""True effects of the systems, by long runs of either arm alone on common random numbers."""

import argparse
import itertools
from dataclasses import replace
from functools import cache

import numpy as np

from tests.systems.catalogue import ALL, simulate_jobs

LOADS = (0.7, 0.85)
RUNS, ARRIVALS, WARM_UP, BATCHES = 4, 1_000_000, 30_000, 20


def effect(system, contrast, load, runs=RUNS, arrivals=ARRIVALS):
    """Simulate the effect on the mean response, and its standard error by batch means of the pairs.

    Returns
    -------
    tuple of float
        The effect, treatment minus control; its standard error; the control's mean response.
    """
    kind, means = ALL[system], []
    for treat in (False, True):
        acts = treat and (kind.split > 0 or kind.speed_up != 1.0)
        samples = kind.contrasts[contrast][treat]
        made = [_batch_means(system, samples, load, arrivals, seed, acts) for seed in range(runs)]
        means.append(np.concatenate(made))
    plain, treated = means
    error = np.std(treated - plain, ddof=1) / np.sqrt(len(plain))
    return np.mean(treated - plain), error, np.mean(plain)


@cache
def _batch_means(system, samples, load, arrivals, seed, treat):
    """Return the mean responses under one arm alone, kept for the other contrasts that have it."""
    kind = replace(ALL[system], contrasts={"alike": (samples, samples)})
    jobs = simulate_jobs(kind, "alike", load, (seed, 1), arrivals, treat)
    return np.array([part.mean() for part in np.array_split(jobs.response[WARM_UP:], BATCHES)])


def known_effect(system, contrast, load):
    """Return what `effect` does, from the table where it has the cell."""
    return TRUTHS.get((system, contrast, load)) or effect(system, contrast, load)


def main():
    """Print the table `TRUTHS`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="+", default=list(ALL), choices=ALL)
    print("TRUTHS = {")
    for system in parser.parse_args().systems:
        for contrast, load in itertools.product(ALL[system].contrasts, LOADS):
            values = ", ".join(f"{value:.5f}" for value in effect(system, contrast, load))
            print(f'    ("{system}", "{contrast}", {load}): ({values}),', flush=True)
    print("}")


# fmt: off
TRUTHS = {
    ("fcfs", "weak", 0.7): (-0.24559, 0.00087, 1.67892),
    ("fcfs", "weak", 0.85): (-0.42004, 0.00198, 2.41878),
    ("fcfs", "medium", 0.7): (-0.41496, 0.00120, 1.67892),
    ("fcfs", "medium", 0.85): (-0.69347, 0.00249, 2.41878),
    ("fcfs", "strong", 0.7): (-1.67238, 0.00812, 3.35130),
    ("fcfs", "strong", 0.85): (-4.33141, 0.03455, 6.75019),
    ("processor_sharing", "weak", 0.7): (-0.24520, 0.00098, 1.67797),
    ("processor_sharing", "weak", 0.85): (-0.41841, 0.00201, 2.41571),
    ("processor_sharing", "medium", 0.7): (-0.41444, 0.00117, 1.67797),
    ("processor_sharing", "medium", 0.85): (-0.69091, 0.00245, 2.41571),
    ("processor_sharing", "strong", 0.7): (-1.66983, 0.00769, 3.34781),
    ("processor_sharing", "strong", 0.85): (-4.32326, 0.03339, 6.73897),
    ("batching", "weak", 0.7): (-0.02444, 0.00008, 1.52345),
    ("batching", "weak", 0.85): (-0.03406, 0.00019, 1.79199),
    ("batching", "medium", 0.7): (-0.03769, 0.00009, 1.52345),
    ("batching", "medium", 0.85): (-0.04832, 0.00023, 1.79199),
    ("batching", "strong", 0.7): (-0.27884, 0.00164, 1.80229),
    ("batching", "strong", 0.85): (-0.88490, 0.00843, 2.67689),
    ("two_classes", "weak", 0.7): (-0.70092, 0.00302, 2.23550),
    ("two_classes", "weak", 0.85): (-1.24900, 0.00978, 3.57872),
    ("two_classes", "medium", 0.7): (-0.82251, 0.00329, 2.23550),
    ("two_classes", "medium", 0.85): (-1.43406, 0.01019, 3.57872),
    ("two_classes", "strong", 0.7): (-3.93491, 0.02309, 5.69472),
    ("two_classes", "strong", 0.85): (-9.76539, 0.10149, 12.45587),
    ("breakdowns", "weak", 0.7): (-0.34399, 0.00186, 2.01193),
    ("breakdowns", "weak", 0.85): (-0.54574, 0.00333, 2.90398),
    ("breakdowns", "medium", 0.7): (-0.56331, 0.00260, 2.01193),
    ("breakdowns", "medium", 0.85): (-0.88059, 0.00466, 2.90398),
    ("breakdowns", "strong", 0.7): (-3.16309, 0.03030, 5.17502),
    ("breakdowns", "strong", 0.85): (-7.43714, 0.09426, 10.34112),
    ("sticky", "weak", 0.7): (-0.12620, 0.00143, 2.29812),
    ("sticky", "weak", 0.85): (-0.20001, 0.00250, 3.47972),
    ("sticky", "medium", 0.7): (-0.22842, 0.00159, 2.29812),
    ("sticky", "medium", 0.85): (-0.35965, 0.00325, 3.47972),
    ("sticky", "strong", 0.7): (-0.41526, 0.00323, 2.71337),
    ("sticky", "strong", 0.85): (-0.92896, 0.01389, 4.40868),
    ("abandonment", "weak", 0.7): (-0.09770, 0.00057, 1.31991),
    ("abandonment", "weak", 0.85): (-0.10484, 0.00063, 1.46998),
    ("abandonment", "medium", 0.7): (-0.17851, 0.00059, 1.31991),
    ("abandonment", "medium", 0.85): (-0.19479, 0.00068, 1.46998),
    ("abandonment", "strong", 0.7): (-0.29565, 0.00072, 1.61556),
    ("abandonment", "strong", 0.85): (-0.31247, 0.00089, 1.78245),
    ("service_treatment", "weak", 0.7): (-0.17375, 0.00068, 1.67892),
    ("service_treatment", "weak", 0.85): (-0.40320, 0.00257, 2.41878),
    ("service_treatment", "medium", 0.7): (-0.38386, 0.00114, 1.67892),
    ("service_treatment", "medium", 0.85): (-0.73967, 0.00338, 2.41878),
    ("service_treatment", "strong", 0.7): (-0.50148, 0.00267, 3.35130),
    ("service_treatment", "strong", 0.85): (-1.76558, 0.01802, 6.75019),
    ("bursts", "weak", 0.7): (-0.32698, 0.00197, 2.47269),
    ("bursts", "weak", 0.85): (-0.40076, 0.00443, 6.39928),
    ("bursts", "medium", 0.7): (-0.54461, 0.00283, 2.47269),
    ("bursts", "medium", 0.85): (-0.64166, 0.00563, 6.39928),
    ("bursts", "strong", 0.7): (-2.39820, 0.02160, 4.87088),
    ("bursts", "strong", 0.85): (-5.62526, 0.10904, 12.02455),
    ("user_assignment", "weak", 0.7): (-0.24559, 0.00087, 1.67892),
    ("user_assignment", "weak", 0.85): (-0.42004, 0.00198, 2.41878),
    ("user_assignment", "medium", 0.7): (-0.41496, 0.00120, 1.67892),
    ("user_assignment", "medium", 0.85): (-0.69347, 0.00249, 2.41878),
    ("user_assignment", "strong", 0.7): (-1.67238, 0.00812, 3.35130),
    ("user_assignment", "strong", 0.85): (-4.33141, 0.03455, 6.75019),
    ("fcfs_deterministic", "weak", 0.7): (-0.11634, 0.00029, 1.33232),
    ("fcfs_deterministic", "weak", 0.85): (-0.19467, 0.00066, 1.67678),
    ("fcfs_deterministic", "medium", 0.7): (-0.20058, 0.00031, 1.33232),
    ("fcfs_deterministic", "medium", 0.85): (-0.31859, 0.00082, 1.67678),
    ("fcfs_deterministic", "strong", 0.7): (-0.83690, 0.00260, 2.16921),
    ("fcfs_deterministic", "strong", 0.85): (-2.16855, 0.01245, 3.84533),
    ("fcfs_pareto", "weak", 0.7): (-0.16887, 0.00082, 1.47160),
    ("fcfs_pareto", "weak", 0.85): (-0.28294, 0.00144, 1.96122),
    ("fcfs_pareto", "medium", 0.7): (-0.28199, 0.00107, 1.47160),
    ("fcfs_pareto", "medium", 0.85): (-0.45127, 0.00194, 1.96122),
    ("fcfs_pareto", "strong", 0.7): (-1.55085, 0.02472, 3.02244),
    ("fcfs_pareto", "strong", 0.85): (-3.98286, 0.06141, 5.94407),
    ("two_classes_quiet", "weak", 0.7): (-0.27412, 0.00163, 1.80726),
    ("two_classes_quiet", "weak", 0.85): (-0.35666, 0.00568, 2.68163),
    ("two_classes_quiet", "medium", 0.7): (-0.39440, 0.00172, 1.80726),
    ("two_classes_quiet", "medium", 0.85): (-0.53947, 0.00579, 2.68163),
    ("two_classes_quiet", "strong", 0.7): (-2.16788, 0.01150, 3.92518),
    ("two_classes_quiet", "strong", 0.85): (-5.43176, 0.04767, 8.11774),
    ("abandonment_lost", "weak", 0.7): (-0.09770, 0.00057, 1.31991),
    ("abandonment_lost", "weak", 0.85): (-0.10484, 0.00063, 1.46998),
    ("abandonment_lost", "medium", 0.7): (-0.17851, 0.00059, 1.31991),
    ("abandonment_lost", "medium", 0.85): (-0.19479, 0.00068, 1.46998),
    ("abandonment_lost", "strong", 0.7): (-0.29565, 0.00072, 1.61556),
    ("abandonment_lost", "strong", 0.85): (-0.31247, 0.00089, 1.78245),
    ("batch_arrivals", "weak", 0.7): (-0.23504, 0.00128, 2.21372),
    ("batch_arrivals", "weak", 0.85): (-0.36878, 0.00296, 3.51351),
    ("batch_arrivals", "medium", 0.7): (-0.37257, 0.00146, 2.21372),
    ("batch_arrivals", "medium", 0.85): (-0.57197, 0.00339, 3.51351),
    ("batch_arrivals", "strong", 0.7): (-1.81417, 0.01164, 4.02789),
    ("batch_arrivals", "strong", 0.85): (-4.57934, 0.05256, 8.09285),
    ("cycle", "weak", 0.7): (-0.30799, 0.00145, 2.00093),
    ("cycle", "weak", 0.85): (-0.48143, 0.00355, 4.56106),
    ("cycle", "medium", 0.7): (-0.51289, 0.00193, 2.00093),
    ("cycle", "medium", 0.85): (-0.78564, 0.00409, 4.56106),
    ("cycle", "strong", 0.7): (-2.25508, 0.01090, 4.25602),
    ("cycle", "strong", 0.85): (-4.66086, 0.03222, 9.22192),
}
# fmt: on
"""Effect, standard error and control's mean response, of `python -m tests.systems.truth`."""

if __name__ == "__main__":
    main()
