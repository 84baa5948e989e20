"""To which families of the paper a scenario belongs; a claim is judged on the families it is about."""

from collections.abc import Callable

from queuebench.study.cells import Cell

_SHIPPED_ARRIVALS = ("poisson", "sinusoidal")
_OUTSIDE: dict[str, Callable] = {}


def register_family(name: str) -> Callable:
    """Return a decorator that registers a family from outside the package.

    Parameters
    ----------
    name : str
        As tables and claims name it.

    Returns
    -------
    Callable
        Of ``belongs(cell) -> bool``.

    Raises
    ------
    ValueError
        If another family from outside has the name.
    """
    if name in _OUTSIDE:
        raise ValueError(f"a family named {name} is registered already")
    return lambda belongs: _OUTSIDE.setdefault(name, belongs)


def families(cell: Cell):
    """Return the families of a cell, from its settings.

    Returns
    -------
    list of str
        Of homogeneous, heterogeneous, nonstationary, delayed, constant_service, heavy_tailed,
        replay and aa (both arms alike), then those from outside. A homogeneous system has nothing but
        equal exponential servers, Poisson arrivals and fresh information.
    """
    experiment = cell.experiment
    found = []
    if experiment.speeds.kind != "equal":
        found.append("heterogeneous")
    if cell.periodic:
        found.append("nonstationary")
    if experiment.information.kind != "fresh" or experiment.travel_time > 0.0:
        found.append("delayed")
    if experiment.service.distribution == "constant":
        found.append("constant_service")
    if experiment.service.distribution == "pareto":
        found.append("heavy_tailed")
    if experiment.workload is not None:
        found.append("replay")
    plain = experiment.arrival_process.kind in _SHIPPED_ARRIVALS
    if not found and plain and experiment.service.distribution == "exponential":
        found.append("homogeneous")
    if experiment.control == experiment.treatment:
        found.append("aa")
    return found + [name for name, belongs in _OUTSIDE.items() if belongs(cell)]


def notes(cell):
    """Return what a reader of a table must know about a cell, in a few words, or nothing."""
    service, assumed = cell.experiment.service, cell.experiment.assumed
    said = []
    if service.distribution == "pareto" and service.shape <= 4.0:
        said.append("Pareto shape <= 4: standard errors unreliable")
    wrong = [key for key, value in assumed if value not in (None, getattr(cell.experiment, key))]
    if wrong:
        said.append(f"estimators told the system are told wrongly: {', '.join(wrong)}")
    return "; ".join(said)
