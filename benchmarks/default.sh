#!/bin/sh
# The default's runs behind docs/results/default.md. Killed, it goes on where it was; run it as: nice sh benchmarks/default.sh
# After a change of the default, delete its rows in results/coco first.
set -e
cd "$(dirname "$0")/.."
run() { .venv/bin/eglearn bench run "$@"; }

for n in 10 20 40; do
    run --out results/coco/short --dims $n --algorithms auto,cma --budget $((100 * n))
done
for instance in 1 2 3 4 5; do
    run --out results/coco/auto --dims 40,20,10,5,3,2 --instances $instance --algorithms auto
done
run --out results/coco/noisy --suite bbob-noisy --dims 20 --algorithms auto,bipop-cma
run --out results/coco/auto --dims 40,20,10,5,3,2 --algorithms auto --seeds 1
run --out results/coco/baselines --dims 40,20,10,5,3,2 --algorithms bipop-cma --seeds 1
run --out results/coco/largescale --suite bbob-largescale --instances 1-3 --algorithms auto,l-bfgs-b,cma
