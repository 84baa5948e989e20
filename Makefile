# Every target sets the environment up first; whoever has one already can call the tools directly.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORES ?= all
STUDY ?= config/config.yaml
# One more than cores: tests of the cluster mostly wait. Files stay whole, for what their tests share,
# and begin in the order of tests/conftest.py.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)

# Some machines switch bytecode off, which makes every start of Python three to five times slower.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup run resume stale clean-stale smoke report test test-all lint format bench bench-peers

setup: $(STAMP)

run: setup
	$(BIN)/queuebench check --configfile $(STUDY)
	$(SNAKEMAKE) --configfile $(STUDY)

# After a kill.
resume: setup
	$(BIN)/python -m queuebench.pipeline.at_work
	$(SNAKEMAKE) --configfile $(STUDY) --unlock
	$(SNAKEMAKE) --configfile $(STUDY) --rerun-incomplete

# Results of scenarios, loads and batches that the study no longer names: list them, remove them.
stale: setup
	$(BIN)/queuebench stale --configfile $(STUDY)

clean-stale: setup
	$(BIN)/queuebench stale --configfile $(STUDY) --remove

smoke: setup
	$(SNAKEMAKE) --configfile config/smoke.yaml

report: run
	$(SNAKEMAKE) --configfile $(STUDY) --report results/report.html

test: setup
	$(PYTEST) -m "not slow"

# Every night: slow tests too, all of them.
test-all: setup
	$(PYTEST)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile rules
	$(BIN)/snakemake --lint --configfile config/smoke.yaml

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow/Snakefile rules

bench: setup
	$(BIN)/python -m benchmarks.run

# Ciw, SimPy and cimba are wanted for nothing else, so they are installed beside the environment.
bench-peers: setup
	test -d $(VENV)/peers || $(PYTHON) -m venv $(VENV)/peers
	$(VENV)/peers/bin/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'
	$(VENV)/peers/bin/python -m benchmarks.peers

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "queuebench needs Python 3.11 or later, and $(PYTHON) is $$($(PYTHON) --version 2>&1);" \
		"name another with: make PYTHON=python3.12 $(or $(MAKECMDGOALS),setup)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q -j 0 $(VENV)/lib src || true
	$(BIN)/python -c 'from queuebench.pipeline.kernels import ensure_compiled; ensure_compiled()'
	@touch $(STAMP)
