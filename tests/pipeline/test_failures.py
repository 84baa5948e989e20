"""A job that fails on its numbers ends with one sentence, in its log and on stderr."""

import subprocess
import sys

import pytest

SCRIPT = """
from queuebench.pipeline.failures import say_failures
from queuebench.estimators import EstimationError
say_failures({log!r})
raise {failure}
"""


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        ("EstimationError('cell a: naive: no job')", "queuebench: cell a: naive: no job"),
        ("ValueError('zero-size\\n array')", "zero-size array (ValueError in"),
        ("OverflowError('too large')", "too large (OverflowError in"),
        ("MemoryError('60 PB')", "more memory than there is (60 PB)"),
    ],
)
def test_a_known_failure_is_one_sentence(tmp_path, failure, sentence):
    log = tmp_path / "logs/job.log"
    process = _run([str(log)], failure)
    assert process.returncode == 1
    assert sentence in process.stderr
    assert len(process.stderr.splitlines()) == 1
    assert log.read_text() == process.stderr


def test_a_fault_of_the_program_keeps_its_traceback():
    process = _run([], "TypeError('a bug')")
    assert process.returncode == 1
    assert "Traceback" in process.stderr


def _run(log, failure):
    script = SCRIPT.format(log=log, failure=failure)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
