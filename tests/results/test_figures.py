"""Figures of tables that leave little to draw."""

import numpy as np
import pandas as pd
import pytest

from queuebench.estimators.common.registry import roles
from queuebench.results.figures.bias_decomposition import draw_bias_decomposition
from queuebench.results.figures.bias_sd import draw_bias_sd
from queuebench.results.figures.delay import draw_delay
from queuebench.results.figures.mse_by_length import draw_mse_by_length
from queuebench.results.figures.mse_heatmap import draw_mse_heatmap
from queuebench.results.figures.truncation import draw_truncation
from queuebench.results.tables.bias_decomposition import bias_decomposition
from queuebench.results.tables.mse import mse_table


def table(estimators, gte=-1.0, horizons=(30.0,), main=30.0):
    """The MSE table of estimators with a given (bias, sd), those called dq at several horizons."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "scenario": "s", "load": 0.5, "design": "bernoulli", "estimator": name, "horizon": h,
            "main": np.isnan(h) or h == main, "replicate": r, "arrivals": 1000, "note": "",
            "check": np.nan, "estimate": gte + bias + sd * rng.normal(),
        }
        for name, (bias, sd) in estimators.items()
        for h in (horizons if "dq" in name else [np.nan])
        for r in range(20)
    ]  # fmt: skip
    truth = pd.DataFrame([{"scenario": "s", "load": 0.5, "gte": gte, "gte_se": 0.0}])
    return mse_table(pd.DataFrame(rows), truth)


def says(figure):
    (text,) = figure.axes[0].texts
    return text.get_text()


ALIKE = {"naive": (0.0, 0.1), "replay": (0.0, 1e-16)}


def test_two_equal_arms_leave_no_relative_error_to_draw():
    assert "no cell has an effect" in says(draw_mse_heatmap(table(ALIKE, gte=0.0)))
    none = bias_decomposition(pd.DataFrame(), [], {})
    assert "solved exactly" in says(draw_bias_decomposition(none))


@pytest.mark.parametrize("draw", [draw_mse_by_length, draw_bias_sd])
def test_an_estimator_without_error_does_not_stretch_the_axes(draw):
    figure = draw(table(ALIKE, gte=0.0), "s")
    figure.draw_without_rendering()
    (axis,) = figure.axes
    assert axis.get_ylim()[0] > 1e-6
    assert "replay (no error)" in [text.get_text() for text in figure.legends[0].get_texts()]
    only = table({"replay": (0.0, 0.0)}, gte=0.0)
    assert "no estimator makes any error" in says(draw(only, "s"))


def drawn(figure, x):
    """Whether a line of a figure has a point at some x."""
    lines = [line for axis in figure.axes for line in axis.get_lines()]
    return any(np.isclose(np.asarray(line.get_xdata(), float), x).any() for line in lines)


def test_every_figure_is_drawn_at_the_studys_horizon():
    estimators = {"naive": (0.5, 0.1), "mixed_dq": (0.0, 0.3)}
    mse = table(estimators, horizons=(10.0, 30.0), main=10.0)
    dq = mse[mse["estimator"] == "mixed_dq"].set_index("horizon")
    labels = [text.get_text() for text in draw_mse_heatmap(mse).axes[0].texts]
    assert {label.rstrip("*") for label in labels} == {
        f"{value:.2g}" for value in mse.loc[mse["main"], "relative_rmse"]
    }
    figure = draw_bias_sd(mse, "s")
    assert drawn(figure, dq.loc[10.0, "sd"])
    assert not drawn(figure, dq.loc[30.0, "sd"])
    figure = draw_delay(mse, roles())
    assert drawn(figure, dq.loc[10.0, "mean"])
    assert not drawn(figure, dq.loc[30.0, "mean"])
    figure = draw_truncation(mse, "s")
    assert "dotted: the main horizon, 10" in figure.get_suptitle()


def test_delays_are_drawn_with_whatever_estimators_there_are():
    assert drawn(draw_delay(table({"naive": (0.5, 0.1)}), roles()), -1.0)
    assert "naive or mixed_dq" in says(draw_delay(table({"group": (0.5, 0.1)}), roles()))
