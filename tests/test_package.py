import subprocess
import sys

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


def test_public_names():
    for name in eglearn.__all__:
        assert getattr(eglearn, name) is not None
        assert name in dir(eglearn)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = eglearn.nonsense
