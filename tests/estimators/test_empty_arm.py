"""A record with all arrivals in one arm says nothing of the effect: it is refused, in one sentence."""

from dataclasses import replace

import pytest

from queuebench.estimators import EstimationError
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.registry import all_estimators
from queuebench.estimators.common.setting import setting_of
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.study.cells import parse_study, resolve
from queuebench.trace import Trace

HORIZON = 2.0
FROM_CHOICES_ALONE = {"lstd_dq", "lstd_dq_trace", "lstd_dq_state", "lstd_off_policy_coupled"}
"""They learn from all arrivals, whichever arm was drawn, and compare choices, which are all recorded."""
NEED_BOTH_ARMS = [
    entry
    for entry in all_estimators()
    if entry.design == "bernoulli" and entry.name not in FROM_CHOICES_ALONE
]


@pytest.fixture(scope="module")
def one_armed(tmp_path_factory):
    """Return records all control and all treated, by arm, and a periodic rate's all control ones."""

    def record(share, **keys):
        study = {
            "seed": 1, "scenarios": {"tested": {}}, "arrivals": 5000, "warmup": 20.0,
            "horizon": HORIZON, "horizons": [1.0, 2.0, 3.0],
            "system": {"servers": 4, "loads": [0.7]}, **keys,
        }  # fmt: skip
        cell = resolve(parse_study(study))[0]
        # No study may ask for it.
        system = cell.experiment.system.model_copy(update={"treated_share": share})
        cell = replace(cell, experiment=cell.experiment.model_copy(update={"system": system}))
        path = tmp_path_factory.mktemp("one_armed") / "t.arrow"
        simulate_batch(cell, "bernoulli", range(1), path)
        # The share the experiment meant to treat; that an arm is empty is then no matter of chance.
        setting = replace(setting_of(cell, "bernoulli"), treated_share=0.5)
        return Record(next(iter(Trace(path))), setting)

    cycle = {"kind": "sinusoidal", "amplitude": 0.3, "period": 50.0}
    return {
        "control": record(1e-9),
        "treated": record(1.0 - 1e-9),
        "periodic": record(1e-9, arrival_process=cycle),
    }


@pytest.mark.parametrize("arm", ["control", "treated"])
@pytest.mark.parametrize("entry", NEED_BOTH_ARMS, ids=lambda entry: entry.name)
def test_an_empty_arm_is_refused(one_armed, entry, arm):
    record = one_armed["periodic" if entry.needs_cycle else arm]
    with pytest.raises(EstimationError, match=r"^an arm has no arrivals$"):
        entry.function(record, HORIZON if entry.uses_horizon else None)
