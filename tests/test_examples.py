"""Every program in examples/ runs as it stands and finds what it looks for."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SAYS = {
    "rippled_bowl": r"^The budget of 25000 evaluations is used\.\nbest value [\d.e-]+ \(the minimum is 0\)",
    "tune_sklearn": r"^No value was lower by more than ftol.*\nerror \d+\.\d+ at the start, 53\.8\d with C=.*\n +y ",
    "fit_ode": r"No value was .*\nmisfit 0\.00\d+ after \d+ evaluations, 0\.00\d+ at .*\na: true 1\.100, found 1\.[01]",
    "noisy_simulation": r"Values are noisy: use x_favorite(.*\n)+ recommended: .* true cost 19[45]\.",
    "external_program": r"exit code 1; its last message was 'no mesh'\.\nvalue .* at \[1\. 2\.\], [1-9]",
    "job_queue": r"40 evaluations in \d+ calls, lowest value (0\.0e\+00|\d\.\de-\d\d) at \[1\. 1\. 1\.\]",
    "dask_workers": r"400 evaluations of 0\.1 s in \d+\.\d s, lowest value (0|[\d.]+e-[1-9]\d)\n",
    "resume_after_crash": r"ended with -9, after 137 evaluations\ncontinued to 400 (.*\n)+the same as .* True",
}
ELSEWHERE = {"latent_garments"}  # needs the laboratory, which tests it


def test_every_example_is_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS) | ELSEWHERE


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", SAYS)
def test_an_example_says_what_it_found(name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:__main__", EXAMPLES / f"{name}.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(SAYS[name], done.stdout), done.stdout
    assert "Traceback" not in done.stderr


def test_progress_is_for_terminals_only():
    done = subprocess.run([sys.executable, EXAMPLES / "rippled_bowl.py"], capture_output=True, check=True)
    assert done.stdout.splitlines()[0] == b"The budget of 25000 evaluations is used."
    assert len(done.stdout.splitlines()) == 2
