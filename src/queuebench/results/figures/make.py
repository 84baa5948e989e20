"""Drawing the figures that the catalogue describes."""

from pkgutil import resolve_name

from queuebench.results.figures.style import ORDER, save, save_each
from queuebench.results.tables.output import read_table


def draw_figures(function, inputs, outputs, scenarios, each, given, order):
    """Draw a figure, or one for each scenario, and write it.

    Parameters
    ----------
    function : str
        ``module:function``, see `queuebench.results.catalogue.Figure`.
    inputs : list of path
    outputs : list of path
        For each kind of file in turn, one path per figure.
    scenarios : list of str
    each : bool
    given : dict
    order : list of str
        Of the estimators with a place of their own.
    """
    ORDER[:] = order
    tables = [table[table["scenario"].isin(scenarios)] for table in map(read_table, inputs)]
    draw = resolve_name(function)
    if each:
        save_each(scenarios, lambda scenario: draw(*tables, scenario, **given), outputs)
    else:
        save(draw(*tables, **given), outputs)
