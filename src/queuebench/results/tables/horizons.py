"""Which horizon a table is read at when an estimator has several."""


def at_main_horizon(table):
    """Keep the rows without a horizon and those at their scenario's main horizon.

    Parameters
    ----------
    table : pandas.DataFrame
        With the column ``main`` of `results/estimates.parquet`; which horizon is the main one is said
        once, by `queuebench.study.settings.Experiment.main_horizon`.

    Returns
    -------
    pandas.DataFrame
    """
    return table[table["main"].astype(bool)]
