# `make` alone lists what there is. `make demo` and `make test` are the two commands of the README.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := operator scheduling spark runtime testbed bench crds tests e2e
# Stories with real processes depend on the machine: one that fails is told again, and named at the end.
AGAIN := --reruns 2 --reruns-delay 5 -rR
.DEFAULT_GOAL := help
export PYTHONDONTWRITEBYTECODE =

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Made anew when the locked dependencies or the project's own metadata change.
$(VENV)/.ready: locks/dev.txt pyproject.toml
	@echo "==> making $(VENV) (once; about a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Thalweg needs Python 3.11 or later; set PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement locks/uv.txt
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes locks/dev.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: setup
setup: $(VENV)/.ready ## make .venv with everything that is needed to work on Thalweg

.PHONY: lock
lock: ## resolve the dependencies again into locks/ (hashes, no index)
	@.ci/lock

.PHONY: format
format: setup ## format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix --quiet .

.PHONY: lint
lint: setup ## ruff, mypy --strict, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy $(SOURCES)
	@$(BIN)/lint-imports --no-cache

.PHONY: test-fast
test-fast: setup ## the pure tests, in about a minute
	@$(BIN)/pytest -n 3 -m "not slow and not control_plane and not spark"

.PHONY: test-slow
test-slow: setup ## pure tests that take longer
	@$(BIN)/pytest -n 2 --dist worksteal $(AGAIN) -m "slow and not control_plane and not spark"

.PHONY: test-spark
test-spark: setup ## condensing with a real Spark, Prometheus and object store (Java is installed where it is missing)
	@$(BIN)/python -m thalweg_testbed.java
	@$(BIN)/python -m thalweg_testbed.objects
	@$(BIN)/pytest -n 2 --dist worksteal $(AGAIN) -m spark

.PHONY: test-plane
test-plane: setup ## behaviours on a real control plane (built once, about 6 minutes)
	@$(BIN)/python -m thalweg_testbed build
	@$(BIN)/pytest -n 4 --dist worksteal $(AGAIN) -m control_plane

.PHONY: test
test: setup ## everything that CI runs, with the time each part took
	@.ci/tiers lint test-fast test-slow test-spark test-plane e2e

.PHONY: e2e
e2e: setup ## stories on kind: real kubelets and latency between domains (needs Docker, or root on Debian)
	@$(BIN)/python -m thalweg_testbed.kind prepare
	@$(BIN)/pytest e2e $(AGAIN) -m "not soak" --durations=20

.PHONY: soak
soak: setup ## the longer stories on kind
	@$(BIN)/python -m thalweg_testbed.kind prepare --soak
	@$(BIN)/pytest e2e -m soak

.PHONY: kind
kind: setup ## make a kind cluster in domains and leave it running
	@$(BIN)/python -m thalweg_testbed.kind up

.PHONY: kind-down
kind-down: setup ## remove it
	@$(BIN)/python -m thalweg_testbed.kind down

.PHONY: demo
demo: setup ## the closed loop on a control plane, in five minutes; no Docker
	@$(BIN)/python -m thalweg_testbed build
	@$(BIN)/python -m thalweg_testbed.demo

.PHONY: cluster
cluster: setup ## start a control plane with 12 simulated nodes and leave it running
	@$(BIN)/python -m thalweg_testbed up

.PHONY: cluster-down
cluster-down: setup ## stop it
	@$(BIN)/python -m thalweg_testbed down

.PHONY: bench
bench: setup ## list the benchmarks; `make bench NAME=gap` runs one
	@$(BIN)/python -m bench $(NAME)
