"""True effects of the systems, by long runs of either arm alone on common random numbers."""

import argparse

import numpy as np

from .catalogue import ALL, simulate_jobs

LOADS = (0.7, 0.85)
RUNS, ARRIVALS, WARM_UP, BATCHES = 4, 1_000_000, 30_000, 20


def effect(system, contrast, load, runs=RUNS, arrivals=ARRIVALS):
    """Simulate the effect on the mean response, and its standard error by batch means of the pairs.

    Returns
    -------
    tuple of float
        The effect, treatment minus control; its standard error; the control's mean response.
    """
    batches, control = [], []
    for seed in range(runs):
        plain, treated = (
            simulate_jobs(ALL[system], contrast, load, (seed, 1), arrivals, treat).response[
                WARM_UP:
            ]
            for treat in (False, True)
        )
        parts = np.array_split(treated - plain, BATCHES)
        batches += [part.mean() for part in parts]
        control.append(plain.mean())
    return np.mean(batches), np.std(batches, ddof=1) / np.sqrt(len(batches)), np.mean(control)


def known_effect(system, contrast, load):
    """Return what `effect` does, from the table where it has the cell."""
    return TRUTHS.get((system, contrast, load)) or effect(system, contrast, load)


def main():
    """Print the table `TRUTHS`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="+", default=list(ALL), choices=ALL)
    print("TRUTHS = {")
    for system in parser.parse_args().systems:
        for contrast in ALL[system].contrasts:
            for load in LOADS:
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
}
# fmt: on
"""Effect, standard error and control's mean response, of `python -m tests.systems.truth`."""

if __name__ == "__main__":
    main()
