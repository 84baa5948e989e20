"""Tables of the loss network: regret, its decomposition, admission errors, epochs, single use."""

import pandas as pd

from queuebench.loss_network.decomposition import decompose
from queuebench.loss_network.model import build_network
from queuebench.loss_network.single_use import single_use
from queuebench.loss_network.summaries import (
    exact_rows,
    summarise_epochs,
    summarise_errors,
    summarise_regret,
)

_MOST_SINGLE_USE = 4096
"""Servers beyond which the single-use optimum, whose cost grows with their square, is left out."""


def regret_table(settings, rows):
    """Return simulated and exact regret per number of servers, policy and window.

    Parameters
    ----------
    settings : queuebench.study.settings.LossNetworkStudy
    rows : dict of str to list of dict
        Rows of all numbers of servers, by kind.

    Returns
    -------
    pandas.DataFrame
        Rates per unit of time; `rejected_high`, `wasted_ticks` and `accepted_low` too.
    """
    found = summarise_regret(rows["regret"])
    for servers in settings.servers:
        found += exact_rows(build_network(settings, servers))
    return pd.DataFrame(found)


def decomposition_table(settings, rows):
    """Return the brackets of the parts of regret per number of servers and window."""
    found = []
    for servers in settings.servers:
        network = build_network(settings, servers)
        bounds = [row for row in rows["bounds"] if row["servers"] == servers]
        found += decompose(network, rows["regret"], settings.window_multipliers, bounds)
    return pd.DataFrame(found)


def errors_table(rows):
    """Return the shares of L arrivals that are Type I and Type II errors and forced refusals."""
    return pd.DataFrame(summarise_errors(rows["errors"]))


def epochs_table(settings, rows):
    """Return the statistics of epochs with the renewal-reward estimate of regret."""
    found = []
    for servers in settings.servers:
        own = [row for row in rows["epochs"] if row["servers"] == servers]
        found += summarise_epochs(build_network(settings, servers), own)
    return pd.DataFrame(found)


def single_use_table(settings):
    """Return the gap between hindsight and online optimum when resources do not come back."""
    return pd.DataFrame(
        [
            {"servers": servers, **single_use(build_network(settings, servers))._asdict()}
            for servers in settings.servers
            if servers <= _MOST_SINGLE_USE
        ]
    )
