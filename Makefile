# make check: set up and judge this machine.  make test: the same, then lint, types and every test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: check test test-arm64 skill lint types unit catalogue zipapp bench clean

check: catalogue
	@echo "== gonogo check"
	@$(BIN)/gonogo check --fail-on never

$(STAMP): pyproject.toml hatch_build.py
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 10) else "gonogo needs Python 3.10 or later, $(PYTHON) is %d.%d: make check PYTHON=python3.12" % sys.version_info[:2])'
	@rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --editable .
	@touch $@

$(DEV): $(STAMP)
	$(PIP) --group dev
	@touch $@

# The generated catalogue follows the TOML files.
catalogue: $(STAMP)
	@$(BIN)/python src/gonogo/catalogue_source.py

zipapp: catalogue
	@$(BIN)/python scripts/build_zipapp.py dist/gonogo-collect.pyz

lint: $(DEV) catalogue
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/shellcheck .ci/run scripts/*.sh skills/*/assets/*.sh

types: $(DEV) catalogue
	$(BIN)/mypy

unit: $(DEV) catalogue
	$(BIN)/pytest

test: check lint types unit

# The collector and the skill's script on aarch64, under qemu. Needs root, debootstrap and qemu-user-static.
test-arm64: $(DEV) catalogue
	scripts/arm64_root.sh build/arm64
	ARM64_ROOT=$(CURDIR)/build/arm64 $(BIN)/pytest -n 0 tests/arm64

# The committed copy of the agent skill, renewed from the gotchas.
skill: catalogue
	$(BIN)/gonogo skill build --output skills

bench: catalogue
	$(BIN)/python benchmarks/check_vs_script.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
