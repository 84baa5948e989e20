"""The truth of every cell: exact where the oracle reaches, simulated elsewhere, and held together."""

import numpy as np

_ALARM = 5.0


class TruthMismatchError(Exception):
    """A simulated truth that contradicts the exact one: the simulator or the oracle is wrong."""


def truth_table(simulated, exact):
    """Return one row per cell with the best truth there is.

    Parameters
    ----------
    simulated : pandas.DataFrame
        Rows of `TRUTH_SCHEMA`.
    exact : list of dict
        What the oracle said, of the cells to which it applies.

    Returns
    -------
    pandas.DataFrame
        Where the oracle solved a cell `source` is exact, the responses and `gte` are exact with the
        oracle's error bounds in `*_se`, and `z_against_exact` is the simulated effect's distance
        from the exact one in standard errors. The queues' effects stay simulated, and ``little_se`` is
        that of `gte_queue` minus the exact `gte`.

    Raises
    ------
    TruthMismatchError
        If a simulated effect is more than five standard errors from the exact one.
    """
    table = simulated.copy()
    table["z_against_exact"] = np.nan
    for found in exact:
        if not found["solved"]:
            continue
        row = (table["scenario"] == found["scenario"]) & (table["load"] == found["load"])
        error = np.hypot(table.loc[row, "gte_se"], found["gte_error"])
        z = (table.loc[row, "gte"] - found["gte"]) / error
        if (z.abs() > _ALARM).any():
            raise TruthMismatchError(
                f"scenario {found['scenario']}, load {found['load']:g}: the simulated effect "
                f"{table.loc[row, 'gte'].iloc[0]:.5g} is {z.iloc[0]:.1f} standard errors from the "
                f"exact {found['gte']:.5g}; the simulator or the oracle is wrong"
            )
        table.loc[row, "z_against_exact"] = z
        table.loc[row, "source"] = "exact"
        for name in ("response_control", "response_treatment", "gte"):
            table.loc[row, name] = found[name]
            table.loc[row, f"{name}_se"] = found[f"{name}_error"]
        table.loc[row, "little_se"] = np.hypot(table.loc[row, "gte_queue_se"], found["gte_error"])
    return table.sort_index()
