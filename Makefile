# check decides the catalogue, test runs the tests, lint reads the code, site builds the docs; each
# builds .venv as needed.

PYTHON ?= python3
JOBS ?= 2
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: check test lint torch site clean FORCE
.NOTPARALLEL:

check: $(VENV)/base.stamp
	$(BIN)/streamorder check

test: $(VENV)/test.stamp
	$(BIN)/pytest -n $(JOBS) --dist loadgroup $(PYTEST_ARGS)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright

# Torch for a CPU, and Triton with its interpreter. Not in .venv: where types are checked nothing may
# depend on whether they are there. tests/conftest.py appends the folder to the path. Where the index
# has a torch for CUDA: make torch TORCH_ARGS='--extra-index-url https://download.pytorch.org/whl/cpu'
torch: .torch/stamp

.torch/stamp: | $(VENV)/venv.stamp
	$(PIP) install --upgrade --target .torch $(TORCH_ARGS) torch==2.13.0 triton==3.9.0
	@touch $@

site: $(VENV)/test.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .torch build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/test.stamp: EXTRA := [test]
$(VENV)/dev.stamp: EXTRA := [dev]

# Strict, because a type checker cannot follow the import hook of the default editable install.
$(VENV)/base.stamp $(VENV)/test.stamp $(VENV)/dev.stamp: pyproject.toml $(VENV)/files.txt
	$(PIP) install --no-build-isolation --config-settings editable_mode=strict --editable '.$(EXTRA)'
	@touch $@

# A strict install links file by file, so it is made again when a file comes or goes.
$(VENV)/files.txt: FORCE | $(VENV)/venv.stamp
	@find . \( -name '.?*' -o -name __pycache__ -o -name '*.egg-info' -o -path ./build -o -path ./dist \
	    -o -path ./tests -o -path ./docs -o -path ./benchmarks \) -prune -o -type f -print \
	    | LC_ALL=C sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# Setuptools comes first: without build isolation an install is offline and takes a second.
$(VENV)/venv.stamp:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install 'setuptools>=77.0.3'
	@touch $@
