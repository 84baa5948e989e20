"""A first plug-in for somebody to change: an estimator or a policy that runs as written, and its test."""

from pathlib import Path
from string import Template

from queuebench.base.errors import StudyError

_ESTIMATOR = '''"""An estimator for queuebench: `plugins: [$name.py]` in a study runs it."""

import numpy as np

from queuebench.estimators import Estimate, register
from queuebench.estimators.common.registry import require_both_arms

BATCHES = 30


@register(
    "$name",
    design="bernoulli",
    observed_costs=True,
    estimand="arm difference",
    assumes=["constant_share"],
)
def $name(record, horizon=None):
    """Mean response of the treated minus that of the controls, with the error of batch means."""
    columns = record.replicate.chunks("treated", "response_time")
    treated, response = map(np.concatenate, zip(*columns, strict=True))
    treated = treated.astype(bool)
    require_both_arms(np.sum(~treated), np.sum(treated))
    means = [response[~treated].mean(), response[treated].mean()]
    value = means[1] - means[0]
    if len(response) < 20 * BATCHES:
        return Estimate(value, note="record too short for batch means")
    share = treated.mean()
    error = np.where(treated, (response - means[1]) / share, (means[0] - response) / (1 - share))
    parts = np.array([part.sum() for part in np.array_split(error, BATCHES)])
    parts *= BATCHES / len(response)
    return Estimate(value, parts.std(ddof=1) / BATCHES**0.5, BATCHES - 1, parts=value + parts)
'''

_ESTIMATOR_TEST = '''"""$name on a simulated record, against a loop over its jobs."""

from pathlib import Path

import pytest

from queuebench.pipeline.stages.estimate import estimate_trace
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.study.cells import parse_study, resolve
from queuebench.trace import Trace

STUDY = {
    "seed": 1,
    "plugins": [str(Path(__file__).with_name("$name.py"))],
    "estimators": ["$name"],
    "arrivals": 2000,
    "warmup": 50.0,
    "system": {"servers": 4, "loads": [0.7]},
    "scenarios": {"plain": {}},
}


def test_it_is_the_difference_of_two_means(tmp_path):
    (cell,) = resolve(parse_study(STUDY))
    trace = tmp_path / "trace.arrow"
    simulate_batch(cell, "bernoulli", range(1), trace)
    ((row,), _) = estimate_trace(cell, "bernoulli", trace)
    arms = [], []
    for replicate in Trace(trace):
        columns = replicate.column("treated"), replicate.column("response_time")
        for treated, response in zip(*columns, strict=True):
            arms[int(treated)].append(response)
    control, treatment = (sum(arm) / len(arm) for arm in arms)
    assert row["estimate"] == pytest.approx(treatment - control)
    assert row["estimate_se"] > 0.0
'''

_POLICY = '''"""A dispatch policy for queuebench: `plugins: [$name.py]` in a study lets an arm name it."""

from math import comb

from queuebench.queueing.policies.registry import SAMPLES, Parameter, register


def rule(permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    """With probability beta the shortest of d sampled queues, else the first sampled."""
    best = permutation[start]
    if uniform < parameters[1]:
        for i in range(start + 1, start + int(parameters[0])):
            if seen[permutation[i]] < seen[best]:
                best = permutation[i]
    return best


def flows(speeds, d, beta):
    """Return for each number of the slowest servers the share they must get, and their speed."""
    n, slowest = len(speeds), sorted(speeds)
    return [
        (m, (1 - beta) * m / n + beta * comb(m, d) / comb(n, d), sum(slowest[:m]))
        for m in range(1, n + 1)
    ]


register(
    "$name",
    parameters=(SAMPLES, Parameter("beta", least=0.0, most=1.0)),
    samples=lambda size, d, beta: d,
    capacity=flows,
    randomised=True,
)(rule)
'''

_POLICY_TEST = '''"""$name by its rule, which is plain Python until a run compiles it."""

from importlib import import_module
from pathlib import Path

from queuebench.study.plugins import load_plugins

load_plugins([str(Path(__file__).with_name("$name.py"))])
PERMUTATION, SEEN = [2, 0, 1, 3], [1, 0, 5, 0]


def choose(d, beta, uniform):
    rule = import_module("$name").rule
    return rule(PERMUTATION, 0, 4, [float(d), beta], SEEN, [1.0] * 4, 0, range(4), uniform)


def test_it_takes_the_shortest_of_those_sampled_or_the_first():
    assert choose(2, 0.5, uniform=0.4) == 0
    assert choose(3, 0.5, uniform=0.4) == 1
    assert choose(3, 0.5, uniform=0.6) == 2
'''

KINDS = {"estimator": (_ESTIMATOR, _ESTIMATOR_TEST), "policy": (_POLICY, _POLICY_TEST)}
"""What there is to begin with: the plug-in and its test."""


def write_plugin(kind: str, name: str, folder: str | Path) -> list[Path]:
    """Write a plug-in that runs as it is, and its test; return their paths.

    Parameters
    ----------
    kind : str
        A key of `KINDS`.
    name : str
        By which a study names it, and of its file.
    folder : str or pathlib.Path
        Made if it is not there.

    Raises
    ------
    StudyError
        If the name is no word of Python, or a file is there already.
    """
    if not name.isidentifier():
        raise StudyError(f"new: {name!r}: a name must be letters, digits and underscores")
    paths = [Path(folder) / f"{prefix}{name}.py" for prefix in ("", "test_")]
    for path in paths:
        if path.exists():
            raise StudyError(f"new: {path} is there already")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, text in zip(paths, KINDS[kind], strict=True):
        path.write_text(Template(text).substitute(name=name))
    return paths
