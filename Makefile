# make demo      set up everything in .venv and learn a vaccination policy (about two minutes)
# make test      set up everything in .venv and run the tests, but for those that need long
# make test-all  run all tests
# make suite     compare agents on the choosing problems of benchmarks/suite, resumable: about 20 minutes
# make docs      the site, from docs/ and docstrings, into build/site
# make look      the site looked at in Chromium: its search, and pages drawn wide and narrow, light and dark
# make links     links of the pages to elsewhere: their form, and where there is a network their answer
# make figures   the figures of the tutorials anew, by running each
# make package   wheel and sdist: built, checked, installed in an empty environment and used there
# make lowest    the tests with the oldest version of every package that pyproject.toml names
# make public-types  how many public symbols have a type that every checker knows, by Pyright
# make check     the same tests, lint, types and the import rule

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: docs look links figures package lowest public-types demo suite test test-all check lint types imports clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(VENV)/.installed
	mkdir -p demo
	$(BIN)/policyloop run flu --trials 3 --rounds 25 --samples 200 --jobs 2 --out demo/flu.sqlite --force
	$(BIN)/policyloop plot demo/flu.sqlite --out demo --force
	$(BIN)/policyloop report demo/flu.sqlite --out demo/report.html --force --quiet
	@echo "The report: demo/report.html; the study on a live page: $(BIN)/policyloop watch demo/flu.sqlite"

# The whole suite: SUITE='--trials 20 --agents all', about 8 hours on one core without Optuna's GP and BoTorch.
SUITE ?= --trials 3 --agents random,auto,d-gpucb,d-ei,gp-ucb,ei
suite: $(VENV)/.installed
	OMP_NUM_THREADS=1 nice -n 10 $(BIN)/python -m benchmarks.suite.run --folder suite-results $(SUITE)
	$(BIN)/python -m benchmarks.suite.analyse --folder suite-results

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

docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "The site: build/site/index.html"

look: docs
	$(BIN)/python docs/_site/look.py

links: $(VENV)/.installed
	$(BIN)/python docs/_site/links.py

figures: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python docs/_site/figures.py

package: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,package]'
	.ci/package

lowest:
	PYTHON=$(PYTHON) .ci/lowest

public-types:
	PYTHON=$(PYTHON) .ci/public-types

check: test lint types imports

clean:
	rm -rf $(VENV) build dist *.egg-info demo
