# Every target sets up what it needs: a virtual environment in .venv, torch through constraints.txt.
PY := .venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test lint types unit wheel-check soak bench clean

run: .venv/run
	OMP_NUM_THREADS=1 $(PY) examples/rippled_bowl.py

test: lint types unit wheel-check

lint: .venv/dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: .venv/dev
	$(PY) -m mypy

unit: .venv/dev
	$(PY) -m pytest -q -n 2

wheel-check: .venv/dev
	$(PY) tests/wheel_check.py

# What is too slow for every landing: a hundred kills instead of twenty.
soak: .venv/dev
	EGLEARN_KILLS=100 $(PY) -m pytest -q --timeout=900 tests/test_run.py -k killed

bench: .venv/dev
	$(PY) benchmarks/gradient_quality.py
	$(PY) benchmarks/store_speed.py

.venv/bin/python:
	python3 -m venv .venv

.venv/run: .venv/bin/python pyproject.toml
	$(PY) -m pip install --quiet -c constraints.txt -e .
	@touch $@

.venv/dev: .venv/bin/python pyproject.toml constraints.txt
	$(PY) -m pip install --quiet -c constraints.txt -e ".[dev,nn,cli,parallel,dask,bench,latent]"
	@touch $@ .venv/run

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
