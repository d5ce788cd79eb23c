"""Tune a scikit-learn model: two parameters of kernel ridge regression, on a logarithmic scale.

Needs `pip install scikit-learn 'eglearn[pandas]'`. The objective is the cross-validated error. Search the logarithm of
parameters that span several orders of magnitude.
"""

from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eglearn import minimize

X, y = load_diabetes(return_X_y=True)


def error(logs):
    alpha, gamma = 10.0**logs
    model = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", alpha=alpha, gamma=gamma))
    return -cross_val_score(model, X, y, cv=5, scoring="neg_root_mean_squared_error").mean()


# The run stops when the error has not fallen by 0.001 for 40 evaluations.
result = minimize(error, bounds=[(-4, 2), (-6, 1)], budget=200, ftol=1e-3, patience=40)
alpha, gamma = 10.0**result.x
print(f"error {result.history.y[0]:.2f} at the start, {result.fun:.2f} with alpha={alpha:.3g}, gamma={gamma:.3g}")
print(result.message)
table = result.history.to_pandas(["log10 alpha", "log10 gamma"])
print(table.nsmallest(3, "y")[["y", "log10 alpha", "log10 gamma"]])
