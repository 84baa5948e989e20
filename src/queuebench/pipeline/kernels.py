"""Compiling every kernel a study may use, once, into numba's cache."""

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import llvmlite.binding

from queuebench.base.jit import cache_folder, sources_hash
from queuebench.base.outside import is_outside

_TINY = {
    "seed": 0,
    "replicates": 1,
    "arrivals": 2000,
    "warmup": 10.0,
    "horizon": 3.0,
    "system": {"servers": 4, "loads": [0.5]},
    "control": {"policy": "power_of_d", "d": 1},
    "treatment": {"policy": "power_of_d", "d": 2},
    "truth": {"relative": 1.0, "max_arrivals": 50_000},
    "designs": {
        "bernoulli": {"kind": "bernoulli"},
        "group": {"kind": "group"},
        "switchback": {"kind": "switchback", "period": 20.0},
    },
    "loss_network": {"servers": [4], "window_multipliers": [1.0], "events": 500, "duration": 10.0},
    "scenarios": {
        "poisson": {},
        "sinusoidal": {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.5, "period": 50.0}},
    },
}


def ensure_compiled():
    """Compile all kernels if nobody has yet, and wait if somebody is doing so.

    Many processes that compile one kernel at once can crash numba's cache, and cost as many times the
    compilation. The first to come holds a lock on the cache folder while it runs a tiny study
    through every kernel; a kernel is compiled once for all policies and features, so any study
    that passes through all kernels will do. The mark it leaves names the processor, as compiled
    code does, and the plug-ins, whose estimators may have kernels; it lies with the kernel of the policies
    that are registered.
    """
    # Imported here: what this module imports is no part of what a job computes.
    from queuebench.queueing.policies.registry import registered
    from queuebench.study.plugins import plugin_modules

    folder = cache_folder(registered())
    names = [llvmlite.binding.get_host_cpu_name(), *map(sources_hash, plugin_modules())]
    done = folder / f"complete-{'-'.join(names)}"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            _run_tiny_study()
            done.touch()


def _run_tiny_study():
    # Imported here: every job asks whether the kernels are there, and hardly any has to compile them.
    from queuebench.estimators.common.registry import all_estimators
    from queuebench.pipeline.stages.batches import simulate_and_estimate
    from queuebench.pipeline.stages.loss_network import loss_files, simulate_loss
    from queuebench.pipeline.stages.truth import simulate_truth
    from queuebench.study.cells import parse_study, resolve

    shipped, outside = [], []
    for entry in all_estimators():
        (outside if is_outside(entry.function.__module__) else shipped).append(entry.name)
    study = parse_study(_TINY | {"estimators": shipped})
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / name for name in ("estimates", "diagnostics")]
        simulate_loss(study.loss_network.model_dump(), 0, 4, loss_files(4, folder), os.devnull)
        for cell in resolve(study):
            simulate_and_estimate(cell, range(1), outputs, os.devnull)
            simulate_truth(cell)
        for cell in resolve(parse_study(_TINY | {"estimators": outside})) if outside else ():
            # What fails on a record this short may do on the study's; if not, the study says so.
            with suppress(Exception):
                simulate_and_estimate(cell, range(1), outputs, os.devnull)
