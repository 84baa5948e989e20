"""Which horizon a table is read at when an estimator has several."""

MAIN_HORIZON = 30.0
"""The default truncation horizon, in mean service times."""


def at_main_horizon(table):
    """Keep the rows without a horizon and, in each scenario, those at the horizon closest to 30."""

    def kept(rows):
        horizons = rows["horizon"].dropna().unique()
        main = min(horizons, key=lambda horizon: abs(horizon - MAIN_HORIZON), default=None)
        return rows["horizon"].isna() | (rows["horizon"] == main)

    keep = [kept(rows) for _, rows in table.groupby("scenario", sort=False)]
    index = [label for mask in keep for label in mask.index[mask]]
    return table.loc[index]
