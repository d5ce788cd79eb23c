"""What the command line understands, and what it says when it does not."""

import dataclasses
import json
import subprocess
import sys

import pytest

import eglearn
from eglearn import AutoSettings, ConvergentSettings, EGLSettings
from eglearn.algorithms import ALGORITHMS
from eglearn.store import History

PROBLEM = ("--dim", "2", "--bounds", "-5", "5", "--budget", "40")
RUN = ("run", "objectives:bowl", "--no-store")
EGL = ("--algorithm", "egl")


def one_sentence(err):
    assert err.startswith("eglearn: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("bogus",), 'unknown command "bogus"'),
        (("show",), "STORE requires an argument"),
        ((*RUN, *PROBLEM, "--modell", "affine"), "--modell"),
        ((*RUN, *PROBLEM, *EGL, "--model", "cubic"), "'constant', 'affine', 'least-change', 'fc', 'spline'"),
        ((*RUN, *PROBLEM, *EGL, "--replay", "0"), "allowed is a whole number, 1 or more"),
        ((*RUN, *PROBLEM, "--maxiter", "9"), "unknown option: --maxiter. Use --budget (see"),
        ((*RUN, *PROBLEM, "--n-jobs=9"), "unknown option: --n-jobs. Use --workers (see"),
        ((*RUN, *PROBLEM, "--m", "few"), "--m"),
        ((*RUN, *PROBLEM, "--hidden", "8", "x"), "--hidden: x is not a whole number"),
        ((*RUN, *PROBLEM, "--hidden", "8", "2.5"), "--hidden: 2.5 is not a whole number"),
        ((*RUN, *PROBLEM, "--preset", "best"), "paper-coco"),
        ((*RUN, *PROBLEM, "--algorithm", "sgd"), "convergent-egl"),
        ((*RUN, *PROBLEM, "--workers", "0"), "workers=0 must be 1 or more"),
        ((*RUN, *PROBLEM, "--timeout", "-1"), "must be a positive number of seconds"),
        ((*RUN, *PROBLEM, "--on-error", "ignore"), "'skip', 'raise' or a finite penalty"),
        ((*RUN, *PROBLEM, "--keep-x", "some"), "improvements"),
        ((*RUN, *PROBLEM, "--max-seconds", "0"), "max_seconds = 0.0: it must be a number above 0"),
        ((*RUN, *PROBLEM, "--seed", "-1"), "seed = -1"),
        ((*RUN, *PROBLEM, "--x0", "1", "2", "3"), "x0 has 3 numbers for 2 coordinates"),
        ((*RUN, *PROBLEM, "--config", "none.toml"), "none.toml cannot be read"),
        ((*RUN, *PROBLEM, "--command", "./simulate"), "leave out one of them"),
        ((*RUN, "--dim", "2", "--bounds", "-5", "--budget", "40"), "--bounds"),
        ((*RUN, "--dim", "2", "--bounds", "5", "-5", "--budget", "40"), "5"),
        ((*RUN, "--dim", "0", "--bounds", "-5", "5", "--budget", "40"), "the dimension is 0"),
        ((*RUN, "--bounds", "-5", "5", "--budget", "40"), "as in --dim 40"),
        ((*RUN, "--dim", "2", "--budget", "40"), "as in --bounds -5 5"),
        ((*RUN, "--dim", "2", "--bounds", "-5", "5"), "as in --budget 10000"),
        ((*RUN, *PROBLEM[:-1], "1.5"), "--budget: 1.5 is not a whole number"),
        ((*RUN, *PROBLEM[:-1], "inf"), "--budget: inf is not a whole number"),
        ((*RUN, *PROBLEM[:-1], "many"), "--budget: many is not a whole number"),
        ((*RUN, "--dim", "2.5", *PROBLEM[2:]), "--dim: 2.5 is not a whole number"),
        ((*RUN, *PROBLEM, "--workers", "1.7"), "--workers: 1.7 is not a whole number"),
        ((*RUN, *PROBLEM, "--seed", "2.9"), "--seed: 2.9 is not a whole number"),
        ((*RUN, *PROBLEM, "--retries", "0.5"), "--retries: 0.5 is not a whole number"),
        ((*RUN, *PROBLEM, "--m", "6.7"), "--m: 6.7 is not a whole number"),
        ((*RUN, *PROBLEM, "--replay", "none"), "--replay: none is not a whole number"),
        (("resume", "run.egl", "--workers", "1.7"), "--workers: 1.7 is not a whole number"),
        ((*RUN, "--dim", "2", "--bounds", "-5", "inf", "--budget", "40"), "needs x0 and scale"),
        ((*RUN, *PROBLEM, "--store", "a.egl"), "both --store a.egl and --no-store are given: leave out one of them"),
        (("run", *PROBLEM), "the objective is missing"),
        (("run", "objectives", "--no-store", *PROBLEM), "does not have the form 'module:function'"),
        (("run", "objectives:wrong", "--no-store", *PROBLEM), "does not exist"),
        (("run", "objectives:number", "--no-store", *PROBLEM), "is of type int: name a function"),
        *(
            (("run", name, "--no-store", *PROBLEM), "names a file: write the module's name, as in 'objectives:bowl'")
            for name in ("./objectives.py:bowl", "objectives.py:bowl", "/a/objectives.py:bowl", "./objectives:bowl")
        ),
        (("run", "nowhere:f", "--no-store", *PROBLEM), "cannot be imported"),
        (("run", "--command", "./nowhere", "--no-store", *PROBLEM), "not found"),
        (("run", "--command", " ", "--no-store", *PROBLEM), "name a program, as in './simulate --mesh fine'\n"),
        (("run", "--command", "'", "--no-store", *PROBLEM), "cannot be split"),
        (("export", "run.egl", "--to", "run.xlsx"), "neither .csv nor .parquet"),
        (("report", "run.egl", "--out", "run.egl"), "does not end in .html"),
    ],
)
def test_wrong_usage_is_one_sentence(inside, words, text):
    code, out, err = inside(*words)
    assert (code, out) == (2, "")
    assert text in one_sentence(err)


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_without_a_console(closed, folder):
    words = ["-m", "eglearn", "run", "objectives:bowl", *PROBLEM]
    subprocess.run(["sh", "-c", f'"$0" "$@" {closed}', sys.executable, *words], cwd=folder.path, check=True)
    assert History(folder.path / "run.egl").result()["status"] == 1


def test_export_does_not_overwrite(inside):
    assert inside("run", "objectives:bowl", *PROBLEM)[0] == 0
    assert inside("export", "run.egl", "--to", "a.csv")[0] == 0
    code, _, err = inside("export", "run.egl", "--to", "a.csv")
    assert code == 2
    assert "--force" in one_sentence(err)
    assert inside("export", "run.egl", "--to", "a.csv", "--force")[0] == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere/a.csv", "No such file or directory"),
        ("nowhere/a.parquet", "No such file or directory"),
        ("objectives.py/a.csv", "Not a directory"),
    ],
)
def test_an_export_that_cannot_be_written_is_named_as_given(inside, name, reason):
    assert inside("run", "objectives:bowl", *PROBLEM)[0] == 0
    code, _, err = inside("export", "run.egl", "--to", name)
    assert code == 1
    assert f"eglearn: {name} cannot be written ({reason}): check its name" in one_sentence(err)


def test_parquet_without_pyarrow(inside, monkeypatch):
    assert inside("run", "objectives:bowl", *PROBLEM)[0] == 0
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = inside("export", "run.egl", "--to", "a.parquet")
    assert code == 1
    assert "pip install pyarrow" in one_sentence(err)


@pytest.mark.parametrize("command", [("show",), ("resume",), ("export", "--to", "a.csv")])
def test_wrong_stores(inside, folder, command):
    for name, text in (("none.egl", "there is no file none.egl"), ("objectives.py", "not the file of a run")):
        code, _, err = inside(command[0], name, *command[1:])
        assert code == 4
        assert text in one_sentence(err)
    assert not (folder.path / "a.csv").exists()


def test_all_failed(inside):
    code, out, _ = inside("run", "objectives:broken", "--no-store", *PROBLEM)
    assert code == 3
    assert "All 31 evaluations failed, the first because" in out
    assert "RuntimeError: no mesh" in out
    assert ", lowest value -, " in out.splitlines()[0]
    code, out, _ = inside(
        "run", "objectives:broken", "--no-store", "--json", "--dim", "2", "--bounds", "0", "1", "--budget", "3"
    )
    assert code == 3  # the budget ends before the second batch


def test_on_error(inside):
    code, _, err = inside("run", "objectives:broken", "--no-store", *PROBLEM, "--on-error", "raise")
    assert code == 1
    assert "RuntimeError: no mesh, at x = [0. 0.]" in one_sentence(err)


@pytest.mark.parametrize("text", ["1 / 0", "raise ValueError('no licence')", "def", "import sys; sys.exit(3)"])
def test_a_module_that_cannot_be_loaded(inside, folder, text):
    (folder.path / "unfinished.py").write_text(text + "\n")
    sys.modules.pop("unfinished", None)
    code, _, err = inside("run", "unfinished:f", "--no-store", *PROBLEM)
    assert code == 1
    assert "the module of the objective 'unfinished:f'" in one_sentence(err)


def test_debug_shows_where(inside):
    code, _, err = inside("run", "objectives:wrong", "--no-store", *PROBLEM, "--debug")
    assert code == 2
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("eglearn: the objective")


def test_config_and_precedence(inside, folder):
    (folder.path / "run.toml").write_text(
        'objective = "objectives:bowl"\nbounds = [[-5, 5], [0, 4], [-1.5, 2]]\nbudget = 60\nstore = "a.egl"\n'
        'keep-x = "none"\non_error = 7\nworkers = 1\nm = 12\nn_max = "none"\nepsilon = 1\ncap = false\n'
        'hidden = [8, 4]\nx0 = [0.5, 1, 1]\nquiet = true\nalgorithm = "egl"\n'
    )
    code, out, err = inside("run", "--config", "run.toml", "--budget", "50", "--epsilon", "0.25", "--no-jump")
    assert (code, err) == (0, "")
    assert out.startswith("The budget of 50")  # quiet
    identity = History("a.egl").identity
    assert identity["box"]["low"] == [-5, 0, -1.5]
    assert identity["box"]["x0"] == [0.5, 1, 1]
    assert (identity["budget"], identity["on_error"]) == (50, 7)
    expected = {"m": 12, "n_max": None, "epsilon": 0.25, "cap": False, "hidden": [8, 4], "jump": False}
    assert {name: identity["settings"][name] for name in expected} == expected
    assert all(e.x is None for e in History("a.egl").evaluations())

    assert inside("run", "--config", "run.toml", "--bounds", "-2", "2", "--dim", "3", "--store", "b.egl")[0] == 0
    assert History("b.egl").identity["box"]["high"] == [2, 2, 2]

    (folder.path / "a.egl").unlink()
    assert inside("run", "--config", "run.toml", "--no-store")[0] == 0
    assert not (folder.path / "a.egl").exists()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("budgett = 3\nepsilom = 2", "unknown in run.toml: budgett, epsilom"),
        ('budget = "many"', "in run.toml: "),
        ("workers = true", "in run.toml: "),
        ("dim = 3.5", "in run.toml: invalid value for --dim: 3.5 is not a whole number"),
        ("hidden = [8, 2.5]", "--hidden: 2.5 is not a whole number"),
        ("bounds = [[1, 2], [3]]", "LOW and HIGH"),
        ("budget = ", "not valid TOML"),
        ('algorithm = "egl"\nreplay = 0', "EGLSettings.replay = 0"),
        ("replay = 3", "--replay is not a setting of the algorithm 'auto': leave it out, or choose --algorithm egl"),
        ('config = "other.toml"', "unknown in run.toml: config"),
    ],
)
def test_wrong_config(inside, folder, content, text):
    (folder.path / "run.toml").write_text(content)
    code, _, err = inside(*RUN, *PROBLEM, "--config", "run.toml")
    assert code == 2
    assert text in one_sentence(err)


def test_a_budget_with_an_exponent(inside, folder):
    assert inside(*RUN, *PROBLEM[:-1], "5e1", "--quiet")[1].startswith("The budget of 50 evaluations")
    (folder.path / "run.toml").write_text("budget = 6e1")
    _, out, _ = inside(*RUN, *PROBLEM[:-2], "--config", "run.toml", "--quiet")
    assert out.startswith("The budget of 60 evaluations")


def test_a_seed_keeps_all_its_digits(inside):
    assert inside("run", "objectives:bowl", *PROBLEM, "--seed", "12345678901234567891")[0] == 0
    assert History("run.egl").identity["seed"] == 12345678901234567891


def test_bounds_file(inside, folder):
    (folder.path / "bounds.txt").write_text("# low high\n-5 5\n0, 1e3\n\n-inf inf  # open\n")
    words = ("run", "objectives:bowl", "--bounds-file", "bounds.txt", "--x0", "1", "--scale", "2", "--budget", "30")
    assert inside(*words)[0] == 0
    assert History("run.egl").identity["box"]["high"] == [5, 1000, float("inf")]
    (folder.path / "bounds.txt").write_text("1 2 3\n")
    code, _, err = inside(*words)
    assert code == 2
    assert "LOW and HIGH" in one_sentence(err)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((*EGL, "--model", "constant"), EGLSettings(model="constant")),
        (
            (*EGL, "--preset", "authors-code", "--model", "affine", "--jump"),
            EGLSettings.authors_code(2, model="affine"),
        ),
        (
            (*EGL, "--preset", "paper-latent", "--model", "constant", "--m", "8"),
            EGLSettings.paper_latent(2, model="constant", m=8),
        ),
        (("--algorithm", "convergent-egl"), ConvergentSettings()),
        (
            ("--algorithm", "convergent-egl", "--m", "9", "--gamma-alpha", "0.5"),
            ConvergentSettings(m=9, gamma_alpha=0.5),
        ),
        ((*EGL, "--anchor", "none", "--output-map", "none", "--order", "none"), EGLSettings(output_map="none")),
        (
            (*EGL, "--model", "least-change", "--output-map", "ranks"),
            EGLSettings(model="least-change", output_map="ranks"),
        ),
        (("--m", "9"), AutoSettings(m=9)),
        (("--algorithm", "cma-es"), ALGORITHMS["cma-es"].settings_class()()),
    ],
)
def test_presets(inside, words, expected):
    assert inside("run", "objectives:bowl", *PROBLEM, *words)[0] == 0
    assert type(expected).from_state(History("run.egl").identity["settings"]) == expected


def test_json_is_alone_on_standard_output(folder):
    done = folder.program("run", "objectives:chatty", "--no-store", *PROBLEM, "--json")
    assert json.loads(done.stdout)["nfev"] == 40
    assert done.stdout.count("\n") == 1
    assert "from Python" in done.stderr
    assert "from a child" in done.stderr
    assert " of 40 evaluations" in done.stderr
    failed = folder.json("run", "objectives:broken", "--no-store", *PROBLEM, "--quiet", code=3)
    assert failed["fun"] is None  # strict JSON has no NaN
    assert failed["success"] is False


def test_target_and_time(inside):
    code, out, _ = inside(*RUN, *PROBLEM[:-1], "5000", "--target", "1e-3", "--quiet")
    assert code == 0
    assert "The target of 0.001 was reached" in out
    code, out, _ = inside("run", "objectives:bowl", *PROBLEM[:-1], "5000", "--max-seconds", "1e-9", "--quiet")
    assert code == 0
    assert "The time of 1e-09 s is over." in out
    assert "To continue: eglearn resume run.egl" in out


def test_one_is_not_many(inside, folder, caplog):
    one = ("--dim", "1", "--bounds", "-5", "5", "--budget", "1")
    _, out, _ = inside("run", "objectives:bowl", *one)
    assert out.startswith("1 of 1 evaluation, lowest value ")
    assert "The budget of 1 evaluation is used." in out
    assert inside("export", "run.egl", "--to", "a.csv")[1] == "1 evaluation written to a.csv\n"
    assert inside("resume", "run.egl", "--budget", "3")[0] == 0
    assert "run.egl holds a run of 1 evaluation: it continues to 3" in caplog.text
    assert "x0 has 2 numbers for 1 coordinate:" in inside(*RUN, *one, "--x0", "1", "2")[2]
    (folder.path / "bounds.txt").write_text("-5 5\n")
    words = ("--dim", "2", "--bounds-file", "bounds.txt", "--budget", "1")
    assert "there are bounds for 1 coordinate:" in inside(*RUN, *words)[2]


def test_help_mentions_everything(inside, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = inside("run", "--help")
    assert code == 0
    assert "eglearn settings" in out
    code, settings, _ = inside("settings")
    assert code == 0
    for field in dataclasses.fields(EGLSettings):
        option = f"--{field.name.replace('_', '-')} " if field.name != "width" else "--model-width "
        assert option in settings
        assert option not in out  # forty of them would hide the others
        assert " ".join(field.metadata["meaning"].split()[:3]) in settings
    for text in ('{"id": 0, "x": [0.5, -1.0]}', '{"id": 0, "y": 1.25}', "docs/evaluation.md"):
        assert text in " ".join(out.replace("│", " ").split())  # wherever lines end
    assert "OBJECTIVE  The function to minimise, as module:function" in out
    _, out, _ = inside("resume", "--help")
    assert "STORE      The file of a run." in out
    assert "OBJECTIVE  The function to minimise, as module:function" in out
    _, out, _ = inside("--help")
    for word in ("run", "resume", "show", "export", "report", "backup", "settings", "130 interrupted", "--debug"):
        assert word in out


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_is_light(word):
    code = (
        f"import sys; from eglearn.cli import main; assert main([{word!r}]) == 0\n"
        "print([m for m in ('torch', 'scipy.optimize', 'pyarrow', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    if word == "--version":
        assert done.stdout.splitlines()[0] == eglearn.__version__


def test_as_a_module():
    done = subprocess.run([sys.executable, "-m", "eglearn", "show", "none.egl"], capture_output=True, text=True)
    assert done.returncode == 4
    assert "there is no file none.egl" in one_sentence(done.stderr)


@pytest.mark.parametrize("package", ["cyclopts", "rich"])
@pytest.mark.parametrize(
    "start", ["from eglearn.cli import main; sys.exit(main())", "import runpy; runpy.run_module('eglearn')"]
)
def test_without_the_extra(package, start):
    code = f"import sys; sys.modules[{package!r}] = None; sys.argv[1:] = ['show', 'a.egl']; {start}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'eglearn[cli]' (in a checkout: pip install '.[cli]')" in one_sentence(done.stderr)


def test_report(inside, folder):
    pytest.importorskip("eglearn.report")
    assert inside("run", "objectives:bowl", *PROBLEM)[0] == 0
    code, out, _ = inside("report", "run.egl", "--out", "page.html")
    assert code == 0
    assert "page.html written" in out
    assert "<html" in (folder.path / "page.html").read_text()


@pytest.mark.parametrize(("store", "page"), [("a.egl", "a.html"), ("runs/b.egl", "runs/b.html"), ("c.2", "c.2.html")])
def test_a_report_is_named_after_its_store(inside, folder, store, page):
    (folder.path / "runs").mkdir()
    assert inside("run", "objectives:bowl", *PROBLEM, "--store", store)[0] == 0
    code, out, _ = inside("report", store)
    assert (code, out) == (0, f"{page} written: open it in a browser\n")
    assert "<html" in (folder.path / page).read_text()
