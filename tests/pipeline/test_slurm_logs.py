import os

from queuebench.pipeline.slurm_logs import slurm_log_tails


def test_recent_logs_are_shown_newest_first(tmp_path):
    for age, name in enumerate(("new", "older", "before the run")):
        log = tmp_path / "rule_truth" / f"{name}.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text("\n".join(f"line {k} of {name}" for k in range(40)))
        os.utime(log, (1000 - age, 1000 - age))
    shown = list(slurm_log_tails(999, tmp_path))
    assert len(shown) == 2
    assert shown[0].startswith(f"{tmp_path}/rule_truth/new.log ends with:\n")
    assert "line 39 of new" in shown[0]
    assert "line 3 of" not in shown[0]


def test_many_failures_are_cut_short_and_none_is_no_trouble(tmp_path):
    for k in range(12):
        (tmp_path / f"{k}.log").write_text("")
    assert list(slurm_log_tails(0, tmp_path))[-1] == f"and 2 more in {tmp_path}"
    assert list(slurm_log_tails(0, tmp_path / "absent")) == []
