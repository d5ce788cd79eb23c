import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import eglearn


def run(code):
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


def test_import_is_light():
    done = run("import eglearn, sys; print([m for m in ('torch', 'scipy.optimize', 'scipy') if m in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


def test_neither_closed_forms_nor_fc_need_torch_or_scipy_optimize():
    done = run(
        "import sys, numpy as np, eglearn\n"
        "eglearn.minimize(lambda x: x @ x, [(-1, 1)] * 3, budget=100)\n"
        "eglearn.EGL([(-1, 1)] * 3, budget=100, settings=eglearn.EGLSettings(model='fc'))\n"
        "print([m for m in ('torch', 'scipy.optimize', 'matplotlib') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_asking_for_a_network_without_torch_says_what_to_do():
    done = run(
        "import sys; sys.modules['torch'] = None\n"
        "import eglearn\n"
        "eglearn.EGL([(0, 1)], budget=9, settings=eglearn.EGLSettings(model='spline'))"
    )
    assert "needs PyTorch: pip install 'eglearn[nn]'" in done.stderr


def test_modules_are_there_when_they_are_named():
    done = run("import eglearn; print(eglearn.evaluation.Command.__name__, eglearn.serialize.dumps.__name__)")
    assert done.stdout.split() == ["Command", "dumps"], done.stderr
    done = run("import eglearn; print(sorted(eglearn.algorithms.ALGORITHMS)[0], eglearn.store.backup.__name__)")
    assert done.stdout.split() == ["active-subspace", "backup"], done.stderr


def test_public_names():
    for name in eglearn.__all__:
        assert getattr(eglearn, name) is not None
        assert name in dir(eglearn)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = eglearn.nonsense


def test_a_name_has_one_meaning():
    """No class name twice in the package, and no constant with two values."""
    classes, constants = defaultdict(list), defaultdict(dict)
    for path in sorted(Path(eglearn.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(f"{path}:{node.lineno}")
        for node in tree.body:
            pairs = []
            if isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
                several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                pairs = zip(target.elts, value.elts, strict=True) if several else [(target, value)]
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                pairs = [(node.target, node.value)]
            for name, value in pairs:
                if isinstance(name, ast.Name) and name.id.isupper():
                    constants[name.id].setdefault(ast.unparse(value), f"{path}:{node.lineno}")
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}
    assert {name: values for name, values in constants.items() if len(values) > 1} == {}
