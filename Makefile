# Everything that a change must pass, and everything that is generated. `make` alone lists the targets.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
# Which tests run: `make ci` runs those marked `ci`, and with ALL=1 those marked `workflow` too.
ALL ?=
CHOSEN = $(if $(ALL),,-m "not ci and not workflow")
CHOSEN_IN_CI = $(if $(ALL),,-m "not workflow")
LEFT_OUT = -m "$(if $(ALL),ci or workflow,ci and not workflow)"
# Each process starts a cluster, which takes 11 s of CPU time.
CLUSTERS ?= 4
# Files are begun in this order: what takes longest first, so that all processes end at about the same time.
CLUSTER_TESTS := tests/e2e_rehearsal tests/testbed tests/e2e_rules tests/e2e tests/programs
# They measure waits to a few seconds: nothing else may run beside them.
TIMED_TESTS := $(addprefix tests/e2e_rehearsal/test_,what_if.py idle_time.py queueing_theory.py swept_changes.py no_pods.py)
# What kind is for: objects, controllers and containers as a cluster has them. What Kueue decides is the same everywhere.
KIND_TESTS ?= tests/e2e/kind $(addprefix tests/e2e/test_,auxiliary.py flex_start.py health.py overlays.py pathways.py platform.py queueing.py)
# Programs that only tests marked `workflow` run.
WORKFLOW_TOOLS := kustomize-oldest tofu lws trainer kuberay
BROWSER_TESTS := tests/e2e_html
ARGOCD_TESTS := tests/e2e_argocd
NOT_UNIT := $(CLUSTER_TESTS) $(BROWSER_TESTS) $(ARGOCD_TESTS) tests/conftest.py
UNIT_TESTS := $(addprefix --ignore=,$(CLUSTER_TESTS) $(BROWSER_TESTS) $(ARGOCD_TESTS))
# Tests start hundreds of Pythons, and pytest writes its own bytecode: kept even where the environment says no. Tests that run
# make must not get the options of this one.
PYTEST = env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u PYTHONDONTWRITEBYTECODE \
  PYTHONPYCACHEPREFIX=$(abspath $(VENV))/bytecode $(BIN)/python -m pytest

##@ Use

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: render
render: $(VENV)/.run ## Write the overlays of this repository.
	@$(BIN)/slicewright render

.PHONY: check
check: $(VENV)/.run ## Fail if the overlays are not rendered or have errors.
	@$(BIN)/slicewright render --check
	@$(BIN)/slicewright validate

##@ Develop

.PHONY: quick
quick: ## Lint, check types and imports, and run fast tests, with PKG=check those of tests/check: under a minute.
	@$(MAKE) --jobs=2 $(if $(PKG),quick-package,quick-i-z quick-a-h) lint imports types

# Chains that run side by side: what needs no Go programs runs while they are built.
.PHONY: test
test: $(VENV)/.run ## Run the tests to pass before a pull request: no root, only package registries; 10 minutes the first time, then 4.
	@$(MAKE) --jobs=3 unit-a-h unit-i-z e2e-process unit-with-tools CLUSTERS=3

.PHONY: ci
ci: $(VENV)/.dev ## Run the tests that `make test` leaves out; with ALL=1 also large numbers, fresh machines and second versions.
	@$(MAKE) --jobs=2 unit e2e-process CHOSEN='$(LEFT_OUT)' CLUSTERS=3

.PHONY: sound
sound: lint types imports check

.PHONY: lint
lint: $(VENV)/.dev ## Lint and check the format.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yaml
	@$(BIN)/shellcheck .ci/run .ci/kind .ci/from-nothing generator/slicewright/provision/lib.sh tests/rendering/provision/stubs/*

.PHONY: types
types: $(VENV)/.dev ## Check the types.
	@$(BIN)/mypy

.PHONY: imports
imports: $(VENV)/.dev ## Check the imports between modules.
	@$(BIN)/lint-imports --no-cache

QUICK = -q --no-header -m "not tools and not slow and not ci and not workflow"
.PHONY: quick-a-h quick-i-z quick-package
quick-a-h quick-i-z: quick-%: $(VENV)/.dev
	@$(PYTEST) $(QUICK) $(HALF) $(PYTEST_ARGS)
quick-package: $(VENV)/.dev
	@$(PYTEST) $(QUICK) tests/$(PKG) $(PYTEST_ARGS)

.PHONY: unit
unit: $(VENV)/.dev tools ## Run the tests that need no cluster.
	@$(PYTEST) -n 3 --dist worksteal $(UNIT_TESTS) $(CHOSEN) $(PYTEST_ARGS)

# Two halves of the alphabet take about the same time, and half the collecting of two workers. The cache is empty: a test
# that needs a program of `make tools` and is not marked so fails at once, and not on a new machine first.
HALF = $(filter-out $(NOT_UNIT),$(wildcard tests/[$*]*))
.PHONY: unit-a-h unit-i-z unit-with-tools
unit-a-h unit-i-z quick-a-h quick-i-z quick-package: export SLICEWRIGHT_CACHE = $(abspath $(VENV))/no-tools
unit-a-h unit-i-z: unit-%: sound
	@echo "unit tests that need no Go programs: $*"
	@nice $(PYTEST) -q --no-header -m "not tools and not ci and not workflow" $(HALF) $(PYTEST_ARGS)
unit-with-tools: $(VENV)/.dev tools
	@echo "unit tests with Go programs"
	@nice $(PYTEST) -q --no-header -n 2 --dist worksteal -m "tools and not ci and not workflow" \
	  $$(grep -rl --include='test_*.py' 'mark\.tools' $(filter-out $(NOT_UNIT),$(wildcard tests/*))) $(PYTEST_ARGS)

.PHONY: coverage
coverage: CHOSEN = $(CHOSEN_IN_CI)
coverage: $(VENV)/.dev tools ## Run the tests that need no cluster, with full branch coverage of the pure packages.
	@$(PYTEST) -n 3 --dist worksteal $(UNIT_TESTS) $(CHOSEN) $(if $(ALL),--all-words) --cov --cov-report=term-missing:skip-covered $(PYTEST_ARGS)

.PHONY: snapshots
snapshots: $(VENV)/.dev tools ## Write the words of messages into tests/messages and how-to pages.
	@rm -f tests/messages/*.txt
	@$(PYTEST) -q --no-header --snapshots $$(grep -rl --include='test_*.py' 'words import places' tests) \
	  tests/docs/test_how_to.py \
	  tests/e2e_rehearsal/test_tutorial.py::test_first_page_shows_what_its_commands_print $(PYTEST_ARGS)

# Real controllers, watched while clusters share the cores: what failed once must pass alone. A cache of failures of its own,
# because other runs of pytest write theirs at the same time.
ON_CLUSTERS = $(PYTEST) -o cache_dir=.pytest_cache/clusters
.PHONY: e2e-process
e2e-process: $(VENV)/.dev tools ## Run the tests of the tools, and the tests on clusters of processes.
	@echo "tests on clusters of processes"
	@$(ON_CLUSTERS) -n $(CLUSTERS) --dist loadfile --no-loadscope-reorder $(CLUSTER_TESTS) $(addprefix --ignore=,$(TIMED_TESTS)) $(CHOSEN) $(PYTEST_ARGS) \
	|| { code=$$?; [ $$code = 1 ] || exit $$code; echo "the tests that failed run again, one at a time"; \
	  $(ON_CLUSTERS) --last-failed --last-failed-no-failures none $(CLUSTER_TESTS) $(CHOSEN) $(PYTEST_ARGS); }

.PHONY: e2e-times
e2e-times: $(VENV)/.dev tools ## Run the tests that measure waits; nothing else may run at the same time.
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder $(TIMED_TESTS) $(PYTEST_ARGS)

.PHONY: e2e-kind
e2e-kind: CHOSEN = $(CHOSEN_IN_CI)
e2e-kind: $(VENV)/.dev ## Run the end-to-end tests on a separate kind cluster: needs Docker, see docs/explanation/testbed.md.
	@$(BIN)/slicewright tools build kind kubectl kwok
	@SLICEWRIGHT_E2E_KIND=1 $(BIN)/python -m pytest $(KIND_TESTS) $(CHOSEN) $(PYTEST_ARGS)

.PHONY: e2e-html
e2e-html: site ## Test the page of a rehearsal and the site in a browser: needs chromium and chromium-driver.
	@$(BIN)/python -m pytest $(BROWSER_TESTS) $(PYTEST_ARGS)

.PHONY: e2e-argocd
e2e-argocd: $(VENV)/.dev tools ## Sync with a real Argo CD: needs Linux, git and redis-server, see docs/explanation/testbed.md.
	@$(BIN)/slicewright tools build argocd
	@$(BIN)/python -m tests.e2e_argocd $(PYTEST_ARGS)

.PHONY: e2e-terraform
e2e-terraform: $(VENV)/.dev ## Validate the Terraform with the real google provider: needs a way to download it.
	@$(BIN)/slicewright tools build tofu
	@$(BIN)/python -m tests.rendering.provision.e2e_terraform

.PHONY: format
format: $(VENV)/.dev ## Format the code, and apply the fixes of the linter.
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

.PHONY: bench
bench: $(VENV)/.dev ## Measure rendering against one kustomize process; prints JSON.
	@$(BIN)/slicewright tools build kustomize
	@$(BIN)/python -m bench.render

.PHONY: docs
docs: $(VENV)/.dev ## Write the generated pages of docs/ that are committed.
	@$(BIN)/python -m website.fields

.PHONY: site
site: $(VENV)/.docs ## Build the site of docs/ into site/, with the pages of commands and ids; fail on a dead link.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --clean

.PHONY: pictures
pictures: $(VENV)/.dev ## Take the pictures of the docs again: needs chromium and chromium-driver.
	@$(BIN)/python -m tests.e2e_html.picture

.PHONY: bench-defaults
bench-defaults: $(VENV)/.dev ## Measure 1,000 workloads with TPUDefaults against plain ones; prints JSON.
	@$(BIN)/python -m bench.defaults

.PHONY: bench-validate
bench-validate: $(VENV)/.dev ## Measure validation against kubeconform; prints JSON.
	@$(BIN)/slicewright tools build kustomize kubeconform
	@$(BIN)/python -m bench.validate

.PHONY: bench-public
bench-public: $(VENV)/.dev ## Count the problems that validate reports for public repositories below FOLDER; prints JSON.
	@$(BIN)/python -m bench.public $(FOLDER)

.PHONY: bench-cluster
bench-cluster: $(VENV)/.dev tools ## Measure the test cluster, up to 1,024 nodes; prints JSON.
	@$(BIN)/python -m bench.cluster

.PHONY: bench-rehearse
bench-rehearse: $(VENV)/.dev tools ## Measure rehearsals of 1,024 and 4,000 nodes; prints JSON.
	@$(BIN)/python -m bench.rehearse

.PHONY: schemas
schemas: $(VENV)/.dev ## Write the schemas of all kinds from their sources.
	@$(BIN)/python schemas/rebuild.py

##@ Tools and pins

# A rehearsal also needs cryptography, which .dev has.
.PHONY: tools programs
tools: programs $(VENV)/.dev ## Build the missing pinned programs (about 6 minutes the first time).
programs: $(VENV)/.run $(if $(shell command -v go),,$(VENV)/.dev)
	@$(BIN)/slicewright tools build
	@$(if $(ALL),$(BIN)/slicewright tools build $(WORKFLOW_TOOLS))

.PHONY: wheel
wheel: $(VENV)/.build ## Build the wheel of slicewright into dist/.
	@$(BIN)/python -m hatchling build -t wheel

.PHONY: wheels
wheels: $(VENV)/.dev wheel ## Build all wheels into dist/; the wheels of the test bed for this machine, or for PLATFORMS="linux-arm64 darwin-arm64".
	@$(BIN)/python -m tools.wheels $(PLATFORMS)

.PHONY: fresh
fresh: wheels ## Install the wheels as a new user does, and rehearse; prints JSON, and fails after LIMIT seconds.
	@$(BIN)/python -m bench.fresh dist $(LIMIT)

.PHONY: requirements
requirements: ## Pin the Python packages again, with hashes.
	@$(PYTHON) -m venv $(VENV)-pins
	@$(VENV)-pins/bin/pip install --quiet --require-hashes -r requirements/pins.txt
	@for name in pins build run dev docs; do $(VENV)-pins/bin/uv pip compile --quiet --universal --python-version 3.11 \
	  --generate-hashes --no-strip-extras --no-header --no-emit-index-url requirements/$$name.in -o requirements/$$name.txt; done
	@rm -rf $(VENV)-pins

.PHONY: clean
clean: ## Remove the virtual environment and temporary files of the tools.
	@rm -rf $(VENV) build dist site .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "slicewright needs Python 3.11 or \
	newer; name one with make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.build: requirements/build.txt | $(VENV)/bin/python
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	@touch $@

$(VENV)/.run: requirements/run.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing slicewright into $(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.run
	@echo "installing what the tests need into $(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.docs: requirements/docs.txt $(VENV)/.dev
	@echo "installing what builds the site into $(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements/docs.txt
	@touch $@
