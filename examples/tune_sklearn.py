"""Tune a scikit-learn model: three parameters of a support vector machine, on logarithmic scales.

Needs `pip install scikit-learn 'eglearn[pandas]'`. The objective is the cross-validated error. Search the logarithm of
parameters that span several orders of magnitude.
"""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from eglearn import minimize

X, y = load_diabetes(return_X_y=True)


def error(logs):
    C, gamma, epsilon = 10.0**logs
    model = make_pipeline(StandardScaler(), SVR(C=C, gamma=gamma, epsilon=epsilon))
    return -cross_val_score(model, X, y, cv=5, scoring="neg_root_mean_squared_error").mean()


# The run stops when the error has not fallen by 0.01 for 50 evaluations.
result = minimize(error, bounds=[(-1, 4), (-5, 1), (-1, 2)], budget=200, ftol=0.01, patience=50)
C, gamma, epsilon = 10.0**result.x
print(result.message)
print(f"error {result.history.y[0]:.2f} at the start, {result.fun:.2f} with C={C:.3g}, {gamma=:.3g}, {epsilon=:.3g}")

# All evaluations as a table; these rows are where the error fell, as far as two digits show it.
table = result.history.to_pandas(["log10 C", "log10 gamma", "log10 epsilon"])
improved = table[table["y"] == table["y"].cummin()]
columns = ["y", "log10 C", "log10 gamma", "log10 epsilon"]
print(improved[columns].round(2).drop_duplicates("y").to_string())
