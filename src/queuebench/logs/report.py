"""The report on a log, as text and as tables."""

import csv
import math
import textwrap
from pathlib import Path

from queuebench.base.files import whole_file
from queuebench.logs.checks.replay_check import REJECTED
from queuebench.logs.errors import LogError
from queuebench.logs.estimates import ROW
from queuebench.logs.findings import Finding

_NAMES = 37
"""Width of the column of estimators' names."""
_WIDTH = 110
_HEAD = (
    f"{'estimator':<{_NAMES}}{'estimates the':<16}{'estimate':>14}{'std. error':>14}{'95 % interval':>30}"
    f"{'alpha':>9}"
)


def text(analysis) -> str:
    """Return the report on an analysed log.

    Parameters
    ----------
    analysis : queuebench.logs.analysis.LogAnalysis
    """
    parts = [
        # What must not be believed is said before anything else.
        [found.text for found in analysis.findings if found.name == REJECTED],
        _headline(analysis),
        _record(analysis),
        _estimates(analysis),
        _withheld(analysis),
        _shares(analysis),
        _curve(analysis),
        _law(analysis),
        _findings(analysis),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def write(analysis, out_dir):
    """Write ``estimates.csv``, ``findings.csv`` and ``report.txt``, each whole or not at all.

    Parameters
    ----------
    analysis : queuebench.logs.analysis.LogAnalysis
    out_dir : str or pathlib.Path
        Created if it is not there.

    Raises
    ------
    LogError
        If it cannot be written.
    """
    out_dir = Path(out_dir)
    try:
        _write_all(analysis, out_dir)
    except OSError as error:
        raise LogError(f"{out_dir}: cannot be written ({error.strerror})") from None


def _write_all(analysis, out_dir):
    _write_table(out_dir / "estimates.csv", ROW, [[r[k] for k in ROW] for r in analysis.rows])
    _write_table(out_dir / "findings.csv", Finding._fields, analysis.findings)
    with whole_file(out_dir / "report.txt") as partial:
        partial.write_text(text(analysis), encoding="utf-8")


def _write_table(path, header, rows):
    with whole_file(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([_field(value) for value in row] for row in rows)


def _field(value):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return " ".join(value)
    # More digits than these mean nothing beside a standard error.
    return f"{value:.8g}" if isinstance(value, float) else value


def _headline(analysis):
    lines = (
        textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="    ")
        for text in analysis.headline.text
    )
    return ["what to believe", *lines]


def _record(analysis):
    replicate, config = analysis.replicate, analysis.config
    unit = config.time_unit
    control, treatment = analysis.arms
    n, treated = replicate.arrivals, analysis.treated
    lines = [
        f"{n:,} arrivals over {replicate.record_end:.6g} {unit}",
        f"treatment {treatment!r}: {treated:,} arrivals ({treated / n:.2%}); control {control!r}: "
        f"{n - treated:,}",
    ]
    if _service_time_known(analysis):
        origin = "as given" if config.mean_service_time else "estimated from completed services"
        lines.append(f"mean service time {analysis.mean_service_time:.6g} {unit} ({origin})")
    if config.columns.server is not None:
        lines.append(f"{len(analysis.servers):,} servers")
    return lines


def _service_time_known(analysis):
    return analysis.first_come or analysis.config.mean_service_time is not None


def _estimates(analysis):
    unit = analysis.config.time_unit
    rows = [row for row in analysis.rows if row["main"] and not row["forbidden"]]
    if not rows:
        return []
    horizon = next((row for row in rows if row["horizon"] is not None), None)
    title = f"effect on the mean response, treatment minus control, in {unit}"
    if horizon:
        services = f"{horizon['horizon']:.4g} mean service times = "
        title += (
            f" (horizon {services if _service_time_known(analysis) else ''}"
            f"{horizon['horizon_time']:.4g} {unit} = {horizon['horizon_arrivals']:,} arrivals)"
        )
    return [title, _HEAD, *(_line(row) for row in rows)]


def _withheld(analysis):
    rows = [row for row in analysis.rows if row["main"] and row["forbidden"]]
    if not rows:
        return []
    said = {found.name: found.text for found in analysis.findings if found.forbids}
    reasons = list(dict.fromkeys(name for row in rows for name in row["forbidden"].split()))
    lines = (
        textwrap.fill(
            f"{name}: {said[name]}", _WIDTH, initial_indent="  ", subsequent_indent="    "
        )
        for name in reasons
    )
    return ["not to be used", *lines, _HEAD, *(_line(row) for row in rows)]


def _shares(analysis):
    curve = analysis.curve
    if curve is None:
        return []
    lines = [
        f"mean response by treated share, in {analysis.config.time_unit}",
        f"{'share':>10}{'mean response':>16}{'std. error':>14}{'slope':>14}{'std. error':>14}",
    ]
    for share, *values in zip(
        curve.shares, curve.levels, curve.levels_se, curve.slopes, curve.slopes_se, strict=True
    ):
        level, *others = (_number(value) for value in values)
        lines.append(f"{share:>10.4g}{level:>16}" + "".join(f"{other:>14}" for other in others))
    ends = f"{curve.curve[0]:.4g} at share 0 and {curve.curve[-1]:.4g} at share 1"
    return [*lines, f"the curve through them: {ends}"]


def _line(row):
    interval = (
        row["note"]
        if math.isnan(row["estimate_se"])
        else f"{row['lower_95']:.6g} to {row['upper_95']:.6g}"
    )
    alpha = "" if math.isnan(row["alpha"]) else f"{row['alpha']:.3f}"
    beside = "" if math.isnan(row["estimate_se"]) else row["note"]
    return (
        f"{row['estimator']:<{_NAMES}}{row['estimand']:<16}{row['estimate']:>14.6g}{_number(row['estimate_se']):>14}"
        f"{interval:>30}{alpha:>9}  {beside}"
    ).rstrip()


def _number(value):
    return "" if math.isnan(value) else f"{value:.4g}"


def _curve(analysis):
    rows = [row for row in analysis.rows if row["horizon"] is not None and not row["forbidden"]]
    horizons = sorted({row["horizon"] for row in rows})
    if len(horizons) < 2:
        return []
    names = list(dict.fromkeys(row["estimator"] for row in rows))
    found = {(row["estimator"], row["horizon"]): row for row in rows}
    head = f"{'horizon':<{_NAMES}}" + "".join(f"{horizon:>20.4g}" for horizon in horizons)
    unit = "mean service times" if _service_time_known(analysis) else analysis.config.time_unit
    lines = [f"sensitivity to the horizon, in {unit}: estimate (std. error)", head]
    for name in names:
        cells = (_cell(found[name, horizon]) for horizon in horizons)
        lines.append(f"{name:<{_NAMES}}" + "".join(f"{cell:>20}" for cell in cells))
    return lines


def _cell(row):
    error = "" if math.isnan(row["estimate_se"]) else f" ({row['estimate_se']:.2g})"
    return f"{row['estimate']:.4g}{error}"


def _law(analysis):
    law = analysis.law
    return [
        "Little's law: C_q = Lambda * C_w + carried - overhang",
        f"  C_q, time-average number in the system    {law.mean_in_system:.6g}",
        f"  Lambda * C_w                              {law.product:.6g} "
        f"(= {law.rate:.6g} * {law.mean_response:.6g})",
        f"  carried in from before the record         {law.carried:+.6g}",
        f"  overhang after its end                    {-law.overhang:+.6g}",
        f"  mean number met by arrivals               {law.met_by_arrivals:.6g}",
    ]


def _findings(analysis):
    if not analysis.findings:
        return ["nothing to report about the log"]
    return ["findings", *(f"  {found.kind}: {found.text}" for found in analysis.findings)]
