"""From a log and its description to estimates, findings and a report."""

from dataclasses import dataclass, field, replace

import numpy as np

from queuebench.estimators.common.record import Record
from queuebench.estimators.common.registry import EstimationError, in_role
from queuebench.estimators.common.setting import Setting
from queuebench.estimators.common.share_curve import ShareCurve, share_curve
from queuebench.logs import report
from queuebench.logs.checks.arrivals import judge_arrivals
from queuebench.logs.checks.assignment import check_assignment, check_shares, check_users
from queuebench.logs.checks.explained import check_explained
from queuebench.logs.checks.groups import check_groups
from queuebench.logs.checks.littles_law import LittlesLaw, littles_law
from queuebench.logs.checks.local_rate import choose_rate
from queuebench.logs.checks.missing import check_tails
from queuebench.logs.checks.replay_check import check_replay, check_stability
from queuebench.logs.checks.requirements import check_requirements
from queuebench.logs.checks.service import judge_service
from queuebench.logs.checks.share_curve import check_curve
from queuebench.logs.checks.units import check_units
from queuebench.logs.errors import LogError, about
from queuebench.logs.estimates import estimate_log, mark_forbidden
from queuebench.logs.headline import Headline, headline
from queuebench.logs.read.description import DRAWN, LogConfig, load_config, parse_config
from queuebench.logs.read.ingest import ingest, stored_columns
from queuebench.logs.record.normalise import normalise, trace_columns
from queuebench.logs.record.replicate import LogReplicate
from queuebench.logs.record.setting import log_setting
from queuebench.logs.record.store import ColumnStore


@dataclass(frozen=True)
class LogAnalysis:
    """What a log says.

    Attributes
    ----------
    config : queuebench.logs.read.description.LogConfig
    replicate : queuebench.logs.record.replicate.LogReplicate
        The record, for `queuebench.estimators.common.record.Record`.
    setting : queuebench.estimators.common.setting.Setting
    arms : tuple of str
        The log's labels of control and treatment.
    servers : list of str
        Names of the servers by their numbers.
    treated : int
        Treated arrivals.
    mean_service_time : float
        In the log's unit.
    first_come : bool
        Whether servers worked on one job at a time, in order; else only observed costs are valid.
    law : queuebench.logs.checks.littles_law.LittlesLaw
    headline : queuebench.logs.headline.Headline
        Which number to believe, and what it is.
    curve : queuebench.estimators.common.share_curve.ShareCurve, optional
        Mean response by treated share, in the log's unit, of a design of several shares.
    rows : list of dict
        Estimates in the log's unit (`queuebench.logs.estimates.ROW`): the main ones first, then the
        other horizons of the sensitivity curve.
    findings : list of queuebench.logs.findings.Finding
        What was dropped and why, warnings and assumptions.
    """

    config: LogConfig
    replicate: LogReplicate
    setting: Setting
    arms: tuple
    servers: list
    treated: int
    mean_service_time: float
    first_come: bool
    law: LittlesLaw
    headline: Headline
    curve: ShareCurve | None = None
    rows: list = field(default_factory=list)
    findings: list = field(default_factory=list)

    def report(self):
        """Return the report as text."""
        return report.text(self)

    def write(self, out_dir):
        """Write ``report.txt``, ``estimates.csv`` and ``findings.csv`` into a folder."""
        report.write(self, out_dir)


def analyze_log(log_path, config_path, out_dir=None) -> LogAnalysis:
    """Read an experiment's log, check it and estimate the effect of the treatment.

    Parameters
    ----------
    log_path : str or pathlib.Path
        Parquet, Arrow or CSV.
    config_path : str, pathlib.Path or dict
        YAML file that describes the log, or its content.
    out_dir : str or pathlib.Path, optional
        Where to write the report and tables; nothing is written if anything fails.

    Raises
    ------
    LogError
        If the log or its description is not usable; one sentence says why and where.
    """
    config = (
        parse_config(config_path) if isinstance(config_path, dict) else load_config(config_path)
    )
    with (
        ColumnStore(stored_columns(config)) as raw,
        ColumnStore(trace_columns(config)) as record,
    ):
        log = ingest(log_path, config, raw)
        with about(log_path):
            analysis = _analyze(log, config, record)
    if out_dir is not None:
        analysis.write(out_dir)
    return analysis


def _analyze(log, config, store):
    made = normalise(log, config, store)
    units = check_units(made.replicate, config, len(made.servers))
    try:
        return _conclude(log, config, made, units)
    except LogError as error:
        # A wrong unit makes nonsense of horizons, service times and windows.
        raise LogError("; ".join([str(error), *(found.text for found in units)])) from None


def _conclude(log, config, made, units):
    replicate = made.replicate
    service = judge_service(
        replicate, made.queues, config.columns.server is not None, config.design.kind,
        config.estimators, choices=config.columns.choices,
    )  # fmt: skip
    mean_service_time = _mean_service_time(config, service)
    setting = log_setting(
        replicate, config, mean_service_time, made.servers, first_come=service.first_come
    )
    arrivals = judge_arrivals(replicate)
    table, rate_findings = choose_rate(replicate, config, setting, arrivals)
    record = Record(replicate, replace(setting, local_rate=table))
    rows, notes = estimate_log(
        record, config, mean_service_time,
        lambda entry: (
            service.valid(entry) and arrivals.valid(entry) and _sees_all(entry, made.others)
        ),
    )  # fmt: skip
    law = littles_law(replicate)
    curve = _curve(record, rows) if setting.shares else None
    findings = [
        *check_curve(curve),
        *check_replay(rows, config),
        *check_stability(setting.structure, law.rate, made.queues.services),
        *units, *made.findings, *check_tails(replicate), *service.findings,
        *_design_findings(log, config, made, setting),
        *_service_findings(record, config, rows, service), *arrivals.findings,
        *rate_findings, *notes,
    ]  # fmt: skip
    mark_forbidden(rows, findings)
    return LogAnalysis(
        config=config,
        replicate=replicate,
        setting=record.setting,
        arms=made.arms,
        servers=made.servers,
        treated=int(np.count_nonzero(replicate.column("treated"))),
        mean_service_time=mean_service_time,
        first_come=service.first_come,
        law=law,
        curve=curve,
        rows=rows,
        findings=findings,
        headline=headline(
            rows, findings, record,
            servers=len(made.servers) if config.columns.server is not None else 0,
            first_come=service.first_come, unit=config.time_unit,
        ),
    )  # fmt: skip


def _curve(record, rows):
    """Return the curve whose slopes are those of the mixture of both costs, if the log allows these."""
    mixture = in_role("mixture")
    own = [row for row in rows if row["main"] and row["estimator"].startswith(mixture.name)]
    slope = (mixture.function, own[0]["horizon"]) if own else ()
    try:
        return share_curve(record, *slope)
    except EstimationError:
        return None


def _service_findings(record, config, rows, service):
    """Return what speaks against equal service and policies that look at queue lengths alone."""
    if config.design.kind not in DRAWN or config.columns.server is None:
        return []
    applied = list(dict.fromkeys(row["estimator"] for row in rows))
    found = check_requirements(record, applied, first_come=service.first_come)
    # Where the share changes, equally long queues follow different pasts in either arm.
    fitted = config.design.kind == "bernoulli" and in_role("response_cost").name in applied
    return [*found, *(check_explained(record, applied) if fitted else [])]


def _sees_all(entry, others):
    """Return whether a record without all jobs is enough: what rebuilds states from it would miss some."""
    return not others or not (entry.needs_structure or entry.needs_constant_rate)


def _mean_service_time(config, service):
    if config.mean_service_time is not None:
        return config.mean_service_time
    if np.isfinite(service.mean) and service.mean > 0:
        return service.mean
    if config.horizon_unit == "time":
        return 1.0
    raise LogError(
        "mean_service_time: cannot be estimated from servers that do not work on one job at a time, "
        "in order; give it, or give horizons as times with `horizon_unit: time`"
    )


def _design_findings(log, config, made, setting):
    """Return what speaks against the assignment of arms that the design says."""
    replicate = made.replicate
    if config.design.kind == "group":
        return check_groups(replicate)
    if config.design.kind not in DRAWN:
        return []
    first = {name: values[: len(log.users)] for name, values in log.columns.items()}
    users = np.where(first["arm"] < 0, -1, log.users)
    treated = first["arm"] == log.arms.find(config.treatment, "treatment")
    if config.design.kind == "bernoulli":
        return [
            *check_assignment(replicate, config.design.treated_share),
            *check_users(users, treated),
        ]
    share = made.share_of.of(first)
    known = (share >= 0.0) & (share <= 1.0)
    return [
        *check_shares(replicate, setting.shares),
        *check_users(np.where(known, users, -1), treated, share),
    ]
