"""Files of the results that a study does not name: of scenarios, loads and batches it no longer has.

Snakemake says which files a study has (``--list-untracked`` names the others). Of those, only files in
places where the workflow writes are taken for its own; whatever else lies there is left alone.
"""

import re
import subprocess
import sys
from pathlib import Path

from queuebench.base.errors import StudyError
from queuebench.results.catalogue import CATALOGUE, Table
from queuebench.study.cells import load_study, resolve

_CELL = r"\w+-load[\d.e-]+"
_BATCH = rf"{_CELL}/batch\d+"
_RULES = "simulate|estimate|simulate_and_estimate|truth|exact|loss|external|figures"
_PLACES = re.compile(
    rf"""results/(?:
    (?:estimates|diagnostics)/{_BATCH}\.parquet
  | (?:estimates|diagnostics|truth)\.parquet
  | traces/{_CELL}/\w+/batch\d+(?:\.carry)?\.arrow
  | traces/loss/N\d+\.arrow
  | truth/{_CELL}\.parquet
  | exact/{_CELL}\.json
  | store/{_CELL}/\d+-\d+\.(?:estimates|diagnostics)\.rows
  | loss/N\d+/\w+\.parquet
  | loss/regret\.parquet
  | external/\w+/(?:report\.txt|estimates\.csv|findings\.csv)
  | tables/(?:regret|regret_decomposition|admission_errors|epochs|single_use)\.csv
  | figures/loss_\w+\.(?:png|pdf)
  | logs/(?:{_RULES})/[\w./-]+\.log
  | logs/\w+\.log
  | benchmarks/(?:{_RULES})/[\w./-]+\.tsv
    )""",
    re.VERBOSE,
)


def stale_files(configfile, folder="."):
    """Return the files below `results` that the workflow made and a study does not name.

    Parameters
    ----------
    configfile : str or pathlib.Path
        The study.
    folder : str or pathlib.Path
        Where the workflow runs.

    Returns
    -------
    list of pathlib.Path
        Relative to the folder, in alphabetical order.

    Raises
    ------
    StudyError
        If the study is wrong or Snakemake cannot say what it names.
    """
    study = load_study(configfile)
    named = _named_store(study)
    untracked = _untracked(Path(configfile).resolve(), folder)
    logs = set(untracked)
    return [
        Path(path)
        for path in untracked
        if is_ours(path)
        and path not in named
        and not (path.startswith("results/benchmarks/") and _log_of(path) not in logs)
        and not any(part.is_symlink() for part in _below(Path(folder), path))
    ]


def remove_stale(configfile, folder="."):
    """Remove the files that `stale_files` lists, and the folders that leaves empty; return the files."""
    found = stale_files(configfile, folder)
    for path in found:
        (Path(folder) / path).unlink(missing_ok=True)
        for parent in list(path.parents)[:-2]:  # Not results itself.
            if any((Path(folder) / parent).iterdir()):
                break
            (Path(folder) / parent).rmdir()
    return found


def is_ours(path):
    """Return whether the workflow writes to a place: the catalogue, with plug-ins, says which are shown."""
    return _PLACES.fullmatch(path) is not None or any(
        re.fullmatch(re.escape(place).replace("STUDY", r"\w+"), path)
        for one in CATALOGUE
        for place in (one.paths.values() if isinstance(one, Table) else one.paths(["STUDY"]))
    )


def _log_of(benchmark):
    """Return the log beside a benchmark, of which alone Snakemake says whether the study has it."""
    return benchmark.replace("results/benchmarks/", "results/logs/").removesuffix(".tsv") + ".log"


def _below(folder, path):
    """Yield a file of a folder and the folders between."""
    for part in (Path(path), *list(Path(path).parents)[:-1]):
        yield folder / part


def _named_store(study):
    """Return the files of the store, which Snakemake does not know."""
    named = set()
    for cell in resolve(study):
        total, size = cell.experiment.replicates, cell.experiment.batch_size
        for begin in range(0, total, size):
            for kind in ("estimates", "diagnostics"):
                end = min(begin + size, total)
                named.add(f"results/store/{cell.name}/{begin}-{end}.{kind}.rows")
    return named


def _untracked(configfile, folder):
    """Return the files in a folder that Snakemake says the study does not have."""
    command = [
        sys.executable, "-m", "snakemake", "--list-untracked", "--configfile", str(configfile),
    ]  # fmt: skip
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        last = (process.stderr.strip() or "it said nothing").splitlines()[-1]
        raise StudyError(f"Snakemake could not say which files {configfile} names: {last}")
    return process.stdout.splitlines()
