# make demo      set up everything in .venv and learn a vaccination policy (about two minutes)
# make test      set up everything in .venv and run the tests, but for those of faults that need long
# make test-all  run all tests
# make check     the same tests, lint, types and the import rule

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-all check lint types imports clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(VENV)/.installed
	mkdir -p demo
	$(BIN)/policyloop run flu --trials 3 --rounds 25 --samples 200 --jobs 2 --out demo/flu.sqlite --force
	$(BIN)/policyloop plot demo/flu.sqlite --out demo --force

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy

imports: $(VENV)/.installed
	$(BIN)/lint-imports

check: test lint types imports

clean:
	rm -rf $(VENV) build dist *.egg-info demo
