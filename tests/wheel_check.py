"""What a stranger gets: build the wheels, install the library's into an empty environment, run the README's example.

Run by ``make wheel-check``. The environment holds the wheel and the dependencies it declares, nothing else, and
sees neither this checkout nor PYTHONPATH. The command line and the laboratory come last, each with what it declares.
"""

# ruff: noqa: T201

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 400_000
"""Bytes of the library's wheel."""

LAZY = """
import sys, eglearn
early = {"torch", "scipy.optimize"} & set(sys.modules)
sys.exit(f"import eglearn loads {early}" if early else 0)
"""

WITHOUT_TORCH = """
import eglearn
try:
    eglearn.EGL([(-1, 1)] * 2, budget=10, settings=eglearn.EGLSettings(model="spline"))
except ImportError as error:
    print(error)
    assert "eglearn[nn]" in str(error), "the message does not say what to install"
    assert len(str(error).splitlines()) == 1, "the message is longer than a line"
else:
    raise AssertionError("a spline network without torch is no ImportError; is torch a declared dependency?")
"""

REPORT = """
import os
import eglearn
from eglearn.report import write_report
eglearn.minimize(lambda x: x @ x, [(-1, 1)] * 3, budget=50, store="run.egl")
write_report("run.egl", "report.html")
assert os.path.getsize("report.html") > 10_000, "the page lacks its style or its script"
"""

NO_LAB = """
import subprocess, sys
done = subprocess.run([sys.executable, "-m", "eglearn", "bench", "list"], capture_output=True, text=True)
print(done.stderr, end="")
assert done.returncode == 1 and not done.stdout, done
assert done.stderr.count("\\n") == 1 and "pip install eglearn-lab" in done.stderr, done
"""

WEIGHTS = """
from pathlib import Path
import eglearn_lab
names = sorted(path.name for path in Path(eglearn_lab.__file__).parent.rglob("*.safetensors"))
assert names == ["faces.safetensors", "fashion_encoder.safetensors", "garments.safetensors"], names
"""


def run(step: str, *command: str | Path, folder: Path, show: bool = False) -> None:
    """Run a command in an empty folder; end the check if it fails."""
    started = time.perf_counter()
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    env.setdefault("OMP_NUM_THREADS", "1")  # small matrices on a shared machine: more threads only wait for each other
    done = subprocess.run(command, cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nwheel check FAILED: {step} (exit code {done.returncode})")
    print(f"wheel check: {step} ({time.perf_counter() - started:.1f} s)", flush=True)
    if show:
        print("".join(f"    {line}\n" for line in done.stdout.splitlines()), end="", flush=True)


def check_content(wheel: Path) -> None:
    """The library's wheel is small and holds the library alone."""
    names = zipfile.ZipFile(wheel).namelist()
    foreign = [name for name in names if not name.startswith(("eglearn/", "eglearn-")) or name.endswith(".safetensors")]
    if foreign:
        sys.exit(f"wheel check FAILED: {wheel.name} holds {', '.join(foreign[:5])}")
    size = wheel.stat().st_size
    if size >= LARGEST:
        sys.exit(f"wheel check FAILED: {wheel.name} has {size:,} bytes, allowed are {LARGEST:,}")
    print(f"wheel check: {wheel.name} has {size:,} bytes", flush=True)


def readme_example() -> str:
    """The first Python block of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    if found is None:
        sys.exit("wheel check FAILED: README.md has no ```python block")
    return found.group(1)


def main() -> None:
    example = readme_example()
    with tempfile.TemporaryDirectory(prefix="eglearn-wheel-") as name:
        folder = Path(name)
        # Without isolation: the build backend is among the development dependencies, and nothing is downloaded twice.
        build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder)
        run("build the library's wheel", *build, ROOT, folder=folder)
        run("build the laboratory's wheel", *build, ROOT / "lab", folder=folder)
        (wheel,) = folder.glob("eglearn-*.whl")
        (lab,) = folder.glob("eglearn_lab-*.whl")
        check_content(wheel)
        home = folder / "empty"
        venv.create(home, with_pip=False, symlinks=os.name != "nt")
        python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        # This environment's pip installs into the empty one, which then needs none of its own.
        pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
        run("install it with its declared dependencies", *pip, wheel, folder=folder)
        run("import eglearn loads neither torch nor scipy.optimize", python, "-c", LAZY, folder=folder)
        run(
            "a spline network without torch says what to install", python, "-c", WITHOUT_TORCH, folder=folder, show=True
        )
        run("a stored run and its report", python, "-c", REPORT, folder=folder)
        script = folder / "example.py"
        script.write_text(example, encoding="utf-8")
        run("the README's first example", python, script, folder=folder, show=True)
        run("install the command line", *pip, f"{wheel}[cli]", folder=folder)
        run("without the laboratory, its commands say what to install", python, "-c", NO_LAB, folder=folder, show=True)
        run("install the laboratory", *pip, lab, folder=folder)
        run("its commands are there", python, "-m", "eglearn", "bench", "list", folder=folder)
        run("its weights are there", python, "-c", WEIGHTS, folder=folder)
    print("wheel check passed")


if __name__ == "__main__":
    main()
