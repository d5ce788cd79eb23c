"""Training the encoder of the 784-D problems."""

import gzip
import sys

import numpy as np
import pytest

from eglearn_lab.bench.encoder import Encoder

WORDS = ("data", "train-encoder", "--data", "images", "--epochs", "1")


@pytest.fixture
def images(folder):
    """Some random images, more than a batch of them, with pixels that have something to learn."""
    (folder.path / "images").mkdir()
    rng = np.random.default_rng(0)
    pixels = (rng.random((200, 784)) < np.linspace(0, 1, 784)) * 255
    head = np.array([2051, 200, 28, 28], dtype=">i4").tobytes()
    content = gzip.compress(head + pixels.astype(np.uint8).tobytes())
    (folder.path / "images" / "train-images-idx3-ubyte.gz").write_bytes(content)


@pytest.mark.usefixtures("images")
def test_training_writes_an_encoder_that_loads(inside, folder):
    pytest.importorskip("torch")
    code, out, err = inside(*WORDS, "--seed", "3", "--out", "a.safetensors")
    assert code == 0
    assert out.startswith("a.safetensors written: loss ")
    assert err.startswith("encoder: 200 of 200 images, loss ")
    encoder = Encoder.load(folder.path / "a.safetensors")
    assert encoder.about["command"] == "eglearn data train-encoder --epochs 1 --seed 3"
    assert encoder.about["seed"] == "3"
    assert encoder.about["images"].startswith("200, file with SHA-256 ")
    assert f"{float(encoder.about['loss'].split()[0]):.2f}" in out
    assert encoder(np.zeros(784)).shape == (10,)
    assert not list(folder.path.glob("*.tmp"))

    # The same seed gives the same encoder, another one another; more epochs lower the loss.
    losses = {}
    for name, words in {"b": ("--seed", "3"), "c": ("--seed", "4"), "d": ("--seed", "3", "--epochs", "5")}.items():
        given = WORDS[:-2] if "--epochs" in words else WORDS
        assert inside(*given, *words, "--out", name)[0] == 0
        losses[name] = float(Encoder.load(folder.path / name).about["loss"].split()[0])
    assert (folder.path / "b").read_bytes() == (folder.path / "a.safetensors").read_bytes()
    assert losses["c"] != losses["b"]
    assert losses["d"] < 0.9 * losses["b"]


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((*WORDS,), 2, "--out"),
        ((*WORDS[:-1], "0", "--out", "a"), 2, "--epochs 0: it must be 1 or more"),
        ((*WORDS[:-1], "1.5", "--out", "a"), 2, "--epochs: 1.5 is not a whole number"),
        ((*WORDS, "--seed", "-1", "--out", "a"), 2, "--seed -1: it must be 0 or more"),
        ((*WORDS, "--out", "objectives.py"), 2, "objectives.py exists"),
        ((*WORDS, "--out", "nowhere/a"), 2, "the folder of nowhere/a does not exist"),
        (("data", "train-encoder", "--data", ".", "--out", "a"), 1, "holds no train-images-idx3-ubyte.gz"),
    ],
)
def test_wrong_usage_is_one_sentence(inside, folder, words, code, text):
    pytest.importorskip("torch")
    found, out, err = inside(*words)
    assert (found, out) == (code, "")
    assert text in err
    assert err.startswith("eglearn: ")
    assert err.count("\n") == 1
    assert not (folder.path / "a").exists()


@pytest.mark.usefixtures("images")
def test_damaged_images(inside, folder):
    pytest.importorskip("torch")
    (folder.path / "images" / "train-images-idx3-ubyte.gz").write_bytes(b"no images")
    code, _, err = inside(*WORDS, "--out", "a")
    assert code == 1
    assert "cannot be unpacked" in err
    assert err.count("\n") == 1


def test_without_torch(inside, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, _, err = inside(*WORDS, "--out", "a")
    assert code == 1
    assert "pip install 'eglearn[nn]'" in err
