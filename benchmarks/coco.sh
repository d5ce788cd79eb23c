#!/bin/sh
# Every run behind docs/results/coco.md and docs/paper.md, in the order of how much it tells. Killed, it goes on where
# it was. About 60 hours of one core in all; run it as: nice sh benchmarks/coco.sh
set -e
cd "$(dirname "$0")/.."
run() { .venv/bin/eglearn bench run "$@"; }

OTHERS=nelder-mead,slsqp,powell,cg,bfgs,cma
run --out results/coco/baselines --dims 40,20,10 --algorithms bipop-cma
run --out results/coco/baselines --dims 40,20,10 --algorithms $OTHERS
run --out results/coco/baselines --dims 5,3,2 --algorithms bipop-cma,$OTHERS
run --out results/coco/closed-form --dims 40,20,10,5,3,2 --algorithms egl-constant

# The paper's fig. 3 and 4a: explicit and indirect learning with equal settings; about a minute of one core a run with a
# network, 8 seconds with egl-planned.
run --out results/coco/figure-3 --dims 40 --instances 1 --algorithms egl-planned
run --out results/coco/figure-3 --dims 40 --instances 1 --algorithms egl-fc,igl-fc
run --out results/coco/figure-3 --dims 40 --instances 1 --algorithms egl-spline,igl-spline
run --out results/coco-authors --dims 40 --instances 1 \
    --algorithms authors-cma,authors-nelder-mead,authors-slsqp,authors-powell,authors-cg,authors-bfgs
.venv/bin/python benchmarks/gradient_along_a_run.py
run --out results/coco/figure-3 --dims 10 --instances 1 --algorithms egl-planned,egl-fc,igl-fc
run --out results/coco/figure-3 --dims 40 --instances 2-5 --algorithms egl-planned,egl-fc,igl-fc
run --out results/coco/figure-3 --dims 10 --instances 1 --algorithms egl-spline,igl-spline
run --out results/coco/figure-3 --dims 2,3,5,20 --instances 1 \
    --algorithms egl-planned,egl-fc,igl-fc,egl-spline,igl-spline
run --out results/coco/figure-3 --dims 40 --instances 2-5 --algorithms egl-spline,igl-spline

for name in networks jump replay-perturbation epsilon output-map; do
    run --out results/coco/ablations --ablation $name
done

for name in egl-paper-fc egl-paper egl-authors; do
    run --out results/coco/paper --dims 10 --instances 1 --algorithms $name --budget 6400
done

# A minute of one core per run in 40-D.
run --out results/coco/baselines --dims 40,20,10,5,3,2 --instances 1 --algorithms cobyla

# Table 1 of the paper at the paper's own budget: 11 to 17 minutes of one core per run.
run --out results/coco/table1 --dims 40 --instances 1 --algorithms egl-table1-fc,igl-table1-fc
run --out results/coco/table1 --dims 40 --instances 1 --algorithms egl-table1-spline
run --out results/coco/table1 --dims 10 --instances 1 --algorithms egl-table1-fc,igl-table1-fc,egl-table1-spline
