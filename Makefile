# Each target makes its own virtual environment where there is none. VENV=DIR puts it elsewhere.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
READY = $(VENV)/ready
# One process per core, a file's tests together; PARALLEL= runs them one after the other.
PARALLEL ?= -n auto --maxprocesses 8 --dist loadfile

.PHONY: demo test check all

# Ten classes of handwritten digits: a folder of pictures becomes an evaluated model and a page about it.
demo: $(READY)
	$(BIN)/python examples/demo.py

# The fast suite. `make all` adds the slow ones and those that start several processes.
test: $(READY)
	$(BIN)/python -m pytest $(PARALLEL)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

all: test check
	$(BIN)/python -m pytest $(PARALLEL) -m "slow and not integration"
	$(BIN)/python -m pytest -m integration

$(READY): pyproject.toml constraints.txt
	@echo 'installing into $(VENV): torch alone is a large download, this takes a few minutes'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[dev]'
	touch $(READY)
