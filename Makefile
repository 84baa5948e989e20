# Every target but `clean` sets the environment up first; whoever has one can call the tools directly.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORES ?= all
STUDY ?= config/config.yaml
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES) --configfile $(STUDY)

# Some machines switch bytecode off, which makes every start of Python three to five times slower.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup run resume smoke report test lint format bench clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "queuebench needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --compile --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)
