"""Training the garments' networks again: the data, checkpoints, the command."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from eglearn.cli import main  # noqa: E402
from eglearn_lab.experiments.latent import load_garments, start, training  # noqa: E402
from eglearn_lab.fashion import load_fashion  # noqa: E402


def write_idx(path: Path, array: np.ndarray) -> None:
    head = b"\0\0\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(head + array.astype(np.uint8).tobytes(), 1))


@pytest.fixture
def data(tmp_path):
    """A data set in the format of FashionMNIST, 80 images of noise."""
    rng = np.random.default_rng(0)
    for split in ("train", "t10k"):
        write_idx(tmp_path / f"{split}-images-idx3-ubyte.gz", rng.integers(0, 256, (80, 28, 28)))
        write_idx(tmp_path / f"{split}-labels-idx1-ubyte.gz", np.arange(80) % 10)
    return tmp_path


def test_reader_of_fashion_mnist(data):
    images, labels = load_fashion("train", data)
    assert images.shape == (80, 28, 28)
    assert labels.tolist() == [number % 10 for number in range(80)]
    with pytest.raises(FileNotFoundError, match="apt-get install"):
        load_fashion("train", data / "nowhere")
    with pytest.raises(ValueError, match="split"):
        load_fashion("test", data)
    (data / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"\0\0\x08\x03" + bytes(12) + b"x"))
    with pytest.raises(ValueError, match="announced"):
        load_fashion("t10k", data)


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(training, "_BATCH", 8)


@pytest.mark.usefixtures("small_batches")
def test_killed_training_goes_on_bit_for_bit(data, tmp_path):
    images = load_fashion("train", data)[0]

    def train(steps, file):
        return training.train_gan(
            images, steps=steps, seed=3, checkpoint=tmp_path / file, report=lambda done, losses: None
        )

    whole = train(3, "whole")[0].state_dict()
    train(1, "parts")
    parts = train(3, "parts")[0].state_dict()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


@pytest.mark.usefixtures("small_batches")
def test_command_trains_and_writes_a_file_that_works(data, tmp_path, capsys):
    out = tmp_path / "small.safetensors"
    words = ["data", "train-garments", "--out", str(out), "--data", str(data), "--steps", "2"]
    assert main([*words, "--classifier-steps", "2", "--seed", "5"]) == 0
    assert "command: eglearn data train-garments --steps 2 --classifier-steps 2 --seed 5" in capsys.readouterr().out
    made = load_garments(out)
    assert np.isfinite(made.cost(0)(start()))
    assert sorted(path.name for path in tmp_path.glob("small*")) == ["small.safetensors"]
    assert main([*words, "--seed", "5"]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["data", "train-garments", "--out", str(tmp_path / "other"), "--data", str(tmp_path / "no")]) == 1
    assert "apt-get install" in capsys.readouterr().err
