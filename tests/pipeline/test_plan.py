import numpy as np
import pytest

from queuebench.pipeline.stages.plan import plan_cell
from queuebench.results.lengths import arrivals_for_width
from queuebench.results.tables.sign import arrivals_for_sign


def test_lengths_by_hand():
    # An interval of width 2 z sd at n0 arrivals: half the width needs four times as many.
    assert arrivals_for_width(1.0, 1000, 2 * 1.959964) == pytest.approx(1000)
    assert arrivals_for_width(1.0, 1000, 1.959964) == pytest.approx(4000)
    needed = arrivals_for_sign(np.array([-1.0, 1.0]), np.array([4000.0, 4000.0]), -0.5)
    assert needed[0] == pytest.approx(1000 * (1.644854 * 2) ** 2)
    assert needed[1] == np.inf


def test_a_planned_length_gives_the_right_sign_as_often_as_promised(make_cell):
    """Simulated at the planned length, 95 % of estimates have the sign (200 replicates, + 4 se)."""
    import pandas as pd

    from queuebench.pipeline.stages.batches import simulate_and_estimate

    keys = {
        "load": 0.6, "system": {"servers": 4}, "horizon": 5.0, "estimators": ["wdq"],
        "control": {"policy": "power_of_d", "d": 1}, "treatment": {"policy": "power_of_d", "d": 2},
        "warmup": 100.0, "truth": {"relative": 0.1, "max_arrivals": 300_000},
    }  # fmt: skip
    gte, table = plan_cell(make_cell(arrivals=4000, **keys), 200, None)
    planned = int(table.loc[0, "for_sign"])
    assert gte < 0
    assert 300 < planned < 4000
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / "e", Path(folder) / "d"]
        simulate_and_estimate(
            make_cell(arrivals=planned, **keys), range(200), outputs, Path(folder) / "log"
        )
        right = (pd.read_parquet(outputs[0])["estimate"] < 0).mean()
    assert abs(right - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 200) + 0.01


@pytest.mark.filterwarnings("error")
def test_lengths_beyond_all_numbers_are_infinite():
    assert arrivals_for_width(1.0, 1000, 1e-300) == np.inf
    assert np.all(arrivals_for_width(np.array([1.0, 2.0]), 1000, 1e-300) == np.inf)
    assert arrivals_for_sign(1e-300, 4000.0, 1e-300) == np.inf
    assert arrivals_for_sign(-5e-324, 4000.0, -5e-324) == np.inf
