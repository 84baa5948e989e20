"""To which families of the paper a scenario belongs; a claim is judged on the families it is about."""


def families(cell):
    """Return the families of a cell, from its settings.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell

    Returns
    -------
    list of str
        Of homogeneous, heterogeneous, nonstationary, delayed, constant_service, heavy_tailed,
        replay and aa (both arms alike). A homogeneous system has nothing but equal exponential servers,
        Poisson arrivals and fresh information.
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
    if not found and experiment.service.distribution == "exponential":
        found.append("homogeneous")
    if experiment.control == experiment.treatment:
        found.append("aa")
    return found


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
