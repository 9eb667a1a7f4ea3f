# The two commands of the README are `make up` and `make test`; everything they need, they install into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

.PHONY: setup tools up test check kubernetes bench lock clean

setup: $(STAMP)

tools: $(VENV)/.tools

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Mooring needs Python 3.11 or newer; set PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.tools: $(STAMP) requirements-dev.lock
	$(PIP) -r requirements-dev.lock
	@touch $@

$(VENV)/.bench: $(STAMP) requirements-bench.lock
	$(PIP) -r requirements-bench.lock
	@touch $@

up: setup
	@exec $(BIN)/mooring up --state .state

check: tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: tools
	@tools/chromium
	$(BIN)/pytest

kubernetes: setup
	$(BIN)/python -m mooring.sandbox.kubernetes

lock: tools
	$(COMPILE) --extra embedded --extra build pyproject.toml -o requirements.lock
	$(COMPILE) --extra embedded --extra build --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(COMPILE) --extra bench -c requirements.lock pyproject.toml -o requirements-bench.lock

clean:
	rm -rf $(VENV) .state
