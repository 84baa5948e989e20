"""Jobs that gave no response, by arm, and servers that hardly worked: what a log leaves out."""

from scipy.special import bdtr, bdtrc

from queuebench.logs.findings import DROPPED, EVERY, NOTE, WARNING, Finding

LEVEL = 0.001
"""Probability, if arms lose alike, below which a difference forbids every number."""

_FEWEST = 100.0
_RARE = 0.01


def lost_jobs(of_arm):
    """Return a finding about jobs that never finished although they had the time.

    Parameters
    ----------
    of_arm : sequence of three int
        Jobs of no arm, of control and of treatment.
    """
    if not sum(of_arm):
        return []
    text = (
        f"{sum(of_arm):,} jobs ({_by_arm(of_arm)}) never finished, though they arrived longer before the "
        "log's end than any finished job took; if one arm loses more, its mean response is not comparable"
    )
    return [Finding(DROPPED, "lost_jobs", int(sum(of_arm)), text)]


def failed_jobs(of_arm, without_end):
    """Return a finding about jobs that failed by their status, some of which say no time of their end."""
    if not sum(of_arm):
        return []
    endless = (
        f"; {without_end:,} of them have no end, so it is not known how long they were there, and they are "
        "left out"
        if without_end
        else ""
    )
    text = (
        f"{sum(of_arm):,} jobs ({_by_arm(of_arm)}) failed by their status; they count as present while they "
        f"were, and neither as responses nor as services{endless}"
    )
    return [Finding(DROPPED, "failed_jobs", int(sum(of_arm)), text)]


def unlabelled_jobs(of_arm, recorded):
    """Return a finding about jobs without an arm, which are only present."""
    count = int(sum(of_arm))
    if not count:
        return []
    text = (
        f"{count:,} jobs of the record ({count / (count + recorded):.2%}) have no arm; they count as present "
        "while they were, not in any mean: in queue-length costs their delay is spread over the jobs with "
        "an arm, and Little's law is that of the jobs with an arm"
    )
    return [Finding(NOTE, "without_arm", count, text)]


def unequal_losses(of_arm) -> list[Finding]:
    """Compare how often the arms lose jobs, and how often jobs fail.

    Given all that were lost, those of the treatment are binomial if both arms lose alike, with the share of
    the treatment among all jobs: exact in the limit of few losses, cautious otherwise.

    Parameters
    ----------
    of_arm : dict of str to sequence of three int
        ``recorded``, ``lost`` and ``failed`` jobs of no arm, of control and of treatment.
    """
    found = []
    for what, verb in (("lost", "were lost"), ("failed", "failed")):
        control, treated = (int(of_arm[what][arm]) for arm in (1, 2))
        all_ = [int(of_arm["recorded"][arm] + of_arm[what][arm]) for arm in (1, 2)]
        gone, share = control + treated, all_[1] / sum(all_)
        if not gone:
            continue
        above = bdtrc(treated - 1, gone, share) if treated else 1.0
        tail = min(1.0, 2.0 * min(float(above), float(bdtr(treated, gone, share))))
        if tail >= LEVEL:
            continue
        shares = f"{treated / all_[1]:.2%} of the treated jobs {verb} but {control / all_[0]:.2%}"
        text = (
            f"{shares} of control's (p = {tail:.2g} if both did alike): the responses left are then of "
            "different kinds of jobs in either arm, and no estimator puts that right"
        )
        found.append(Finding(WARNING, f"{what}_unequally", gone, text, EVERY))
    return found


def rare_servers(jobs, names) -> list[Finding]:
    """Return a warning about servers with hardly any job.

    Parameters
    ----------
    jobs : ndarray of int64, shape (N,)
        Recorded jobs by server.
    names : list of str
    """
    even = jobs.sum() / len(jobs)
    rare = [server for server in jobs.argsort(kind="stable") if jobs[server] < _RARE * even]
    if even < _FEWEST or not rare:
        return []
    first = rare[0]
    others = f" and {len(rare) - 1} more servers are as rare" if len(rare) > 1 else ""
    text = (
        f"server {names[first]!r} has {jobs[first]:,} of {jobs.sum():,} rows, where an even share would be "
        f"{even:,.0f}{others}: a misspelt name, a fallback or another pool? Leave such rows out if it is no "
        "server of the experiment"
    )
    return [Finding(WARNING, "rare_servers", len(rare), text)]


def _by_arm(of_arm):
    none, control, treated = (int(count) for count in of_arm)
    unknown = f", {none:,} of no arm" if none else ""
    return f"{treated:,} treated, {control:,} of control{unknown}"
