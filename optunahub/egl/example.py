"""Two numbers on log scales, a grid and a category, by the sampler of eglearn."""

import math

import optuna
import optunahub

N_TRIALS = 100


def objective(trial: optuna.Trial) -> float:
    """A stand-in for training a network: it is best with adam, 3 layers, a rate near 0.003 and a decay near 1e-4."""
    rate = math.log10(trial.suggest_float("rate", 1e-5, 1, log=True))
    decay = math.log10(trial.suggest_float("decay", 1e-7, 1e-1, log=True))
    layers = trial.suggest_int("layers", 1, 8)
    loss = (rate + 2.5) ** 2 + 0.3 * (decay + rate + 6.5) ** 2 + 0.2 * (layers - 3) ** 2
    if trial.suggest_categorical("optimizer", ["sgd", "adam"]) == "sgd":
        momentum = trial.suggest_float("momentum", 0, 0.99)
        return loss + 0.5 + (momentum - 0.9) ** 2
    return loss


if __name__ == "__main__":
    EGLSampler = optunahub.load_module("samplers/egl").EGLSampler
    study = optuna.create_study(sampler=EGLSampler(n_trials=N_TRIALS, seed=0))
    study.optimize(objective, n_trials=N_TRIALS)
    print(study.best_value, study.best_params)
