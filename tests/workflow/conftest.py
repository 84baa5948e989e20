import pytest

from tests.workflow_copy import Workflow


@pytest.fixture
def workflow(tmp_path):
    return Workflow(tmp_path)
