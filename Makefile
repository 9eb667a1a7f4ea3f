# The two commands of the README are `make up` and `make test`; everything they need, they install into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
INTEGRATED := $(VENV)/.integrated
INTEGRATIONS := $(patsubst %/pyproject.toml,%,$(wildcard integrations/*/pyproject.toml))
PACKAGES := packages/hawser packages/drydock packages/mooring
OWN := kube-hawser kube-drydock kube-mooring $(INTEGRATIONS:integrations/%=kube-mooring-%)
NO_EMIT := $(OWN:%=--no-emit-package %)

CORES := $(shell getconf _NPROCESSORS_ONLN)
# Tests start hundreds of Python processes: each uses the bytecode that the first one wrote.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup integrations up test test-fast check kubernetes nodes helm object-store wheels image bench lock docs mutants campaign fire soak nightly clean

setup: $(STAMP)

# uv comes from the lock too, by pip; it then installs the rest in a fraction of pip's time.
$(STAMP): requirements.lock $(PACKAGES:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Mooring needs Python 3.11 or newer; set PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@awk '/^uv==/ {on=1} on && /^[^ ]/ && !/^uv==/ {exit} on' requirements.lock > $(VENV)/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation $(PACKAGES:%=-e %)
	@touch $@

# Buildbot, JupyterHub and the drivers that the integrations are tested with: `make up` does without them.
integrations: $(INTEGRATED)

$(INTEGRATED): $(STAMP) integrations/requirements.lock $(INTEGRATIONS:%=%/pyproject.toml)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode -r integrations/requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation $(INTEGRATIONS:%=-e %)
	@touch $@

up: setup
	@exec $(BIN)/mooring up --state .state

check: integrations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file packages/testing/mypy.ini
	$(BIN)/lint-imports
	$(BIN)/python tools/limits

# Most tests of the full run wait for other processes: three workers a core.
test: integrations
	@tools/chromium
	$(BIN)/pytest -n $(shell expr 3 \* $(CORES)) --durations=25

test-fast: setup
	$(BIN)/pytest packages -n $(CORES) -m "not (realtime or kubernetes or nodes or browser or slow)" --durations=25

kubernetes: setup
	$(BIN)/drydock build

nodes: setup
	$(BIN)/drydock build --nodes

helm: setup
	@tools/helm

object-store: setup
	@tools/object-store

wheels: setup
	$(BIN)/python tools/image wheels

image: setup
	$(BIN)/python tools/image

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
lock: setup
	$(COMPILE) $(NO_EMIT) requirements.in -o requirements.lock
	$(COMPILE) $(NO_EMIT) integrations/requirements.in -o integrations/requirements.lock

# The reference is written from the code, then the site is built; a warning, such as a broken link, is an error.
docs: setup
	$(BIN)/python tools/reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# All benchmarks in less than 15 minutes, written to docs/reference/performance.md; or BENCH="claims --full".
bench: setup
	$(BIN)/python -m benchmarks $(or $(BENCH),--page)

# Bugs of one line, planted one after another: a test must notice each. About 20 minutes on two cores.
mutants: setup
	$(BIN)/python tools/mutants --jobs $(CORES) $(MUTANTS)

# Three replicas through random troubles in virtual time, with a judge: SEEDS, MINUTES, FIRST, or PLANTED=1.
campaign: setup
	$(BIN)/python -m packages.mooring.tests.campaign --seeds $(or $(SEEDS),100) --minutes $(or $(MINUTES),3) \
	  --first $(or $(FIRST),1) --jobs $(CORES) $(if $(PLANTED),--planted)

# Three `mooring serve`, a real control plane and PostgreSQL: a fault every 10 s under load, and the judge.
fire: setup
	$(BIN)/python -m packages.mooring.tests.fire --seconds $(or $(SECONDS),300) --rate $(or $(RATE),50) \
	  --workers $(or $(WORKERS),200)

# The same parts without faults for hours: what they use stays bounded. Samples and a plot go to dist/soak.
soak: setup
	$(BIN)/python -m packages.mooring.tests.fire.soak --hours $(or $(HOURS),2) --rate $(or $(RATE),10) \
	  --workers $(or $(WORKERS),50)

# What takes too long for each change: planted bugs, many seeds, and real replicas under fire. About two hours on two cores.
nightly: mutants
	$(MAKE) campaign PLANTED=1
	$(MAKE) campaign FIRST=1000 SEEDS=2000 MINUTES=30
	$(MAKE) fire

clean:
	rm -rf $(VENV) .state
