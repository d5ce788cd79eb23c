"""The faces of the latent-space search. Most tests need only what is shipped; the last ones the extra's packages."""

from __future__ import annotations

import importlib.util
import json
import struct

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("pyarrow")
pytest.importorskip("cma")
pytest.importorskip("matplotlib")

import torch

from eglearn.cli import main
from eglearn_lab.experiments.latent import runs, start
from eglearn_lab.experiments.latent.faces import fitting, stylegan
from eglearn_lab.experiments.latent.faces.attributes import ATTRIBUTES, LEARNED
from eglearn_lab.experiments.latent.faces.faces import SHIPPED, TARGETS, load_faces, load_parts
from eglearn_lab.experiments.latent.faces.measures import MEASURED, chances, measures, scales
from eglearn_lab.experiments.latent.faces.photos import Photos
from eglearn_lab.experiments.latent.faces.pool import draw_z
from eglearn_lab.experiments.latent.page import write_gallery
from eglearn_lab.experiments.latent.space import LIMIT, N
from eglearn_lab.experiments.latent.subjects import SUBJECTS, find_subject

PACKAGES = ("random_face", "face_recognition_models", "dlib")
needs_extra = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in PACKAGES), reason="needs eglearn-lab[faces]"
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# --- what is shipped --------------------------------------------------------------------------------------------------


def test_the_shipped_file_is_small_and_says_how_it_was_made():
    assert SHIPPED.stat().st_size < 4_000_000
    about = load_parts().about
    assert about["command"].startswith("eglearn data fit-faces")
    rows = json.loads(about["attributes"])
    assert tuple(rows) == ATTRIBUTES
    made, photos, common = np.array(list(rows.values())).T
    assert made.mean() > 0.8
    assert photos.mean() > 0.7
    assert (made > common + 0.02).mean() > 0.9  # nearly all were learned


def test_no_weights_of_the_generator_are_shipped():
    parts = load_parts()
    names = {"head", "critic", "classifier"}
    assert {field for field in vars(parts) if isinstance(getattr(parts, field), torch.nn.Module)} == names
    assert sum(tensor.numel() for tensor in parts.head.state_dict().values()) < 120_000


def test_classifier_knows_the_targets_and_critic_likes_them():
    parts = load_parts()
    images = parts.targets["images"].float() / 255
    with torch.inference_mode():
        told = (parts.classifier(images) > 0).numpy()
        poor = parts.critic(images)
        noise = parts.critic(torch.rand(16, 3, 64, 64, generator=torch.Generator().manual_seed(0)))
    assert told.shape == (TARGETS, 40)
    assert np.mean(told == parts.targets["attributes"].numpy()) > 0.7
    assert poor.mean() < 0 < noise.mean()  # the paper's sign


def test_latent_space_has_the_spread_that_is_said():
    latent = load_parts().latent
    z = torch.randn(4000, N, generator=torch.Generator().manual_seed(0))
    w = latent.w(z)
    covariance = 0.49 * latent.root @ latent.root
    assert torch.allclose(w.mean(0), latent.mean, atol=0.06)
    assert torch.cov(w.T).diagonal().sum() == pytest.approx(float(covariance.diagonal().sum()), rel=0.05)


def test_points_of_the_pool_are_in_the_box_and_every_third_is_far():
    z, spread = draw_z(3, 30, seed=1)
    assert z.abs().max() <= LIMIT
    near = np.arange(30) % 3 < 2
    assert ((spread < 1.3).numpy() == near).all()
    assert z.square().mean(1).sqrt().numpy()[near] == pytest.approx(spread.numpy()[near], rel=0.15)
    assert torch.equal(z, draw_z(3, 30, seed=1)[0])


# --- measures ---------------------------------------------------------------------------------------------------------


def drawn(mouth: float = 0.0, nose: float = 0.0) -> np.ndarray:
    """Landmarks of a plain face: eyes, nose, mouth, jaw; the inner mouth is ``mouth`` open, the nose moved."""
    p = np.zeros((68, 2))
    turn = np.linspace(np.pi, 0, 17)
    p[:17] = np.stack([0.5 + 0.3 * np.cos(turn), 0.5 + 0.4 * np.sin(turn)], axis=1)
    p[17:22] = np.stack([np.linspace(0.3, 0.45, 5), np.full(5, 0.38)], axis=1)
    p[22:27] = np.stack([np.linspace(0.55, 0.7, 5), np.full(5, 0.38)], axis=1)
    p[27:31] = np.stack([np.full(4, 0.5 + nose), np.linspace(0.45, 0.6, 4)], axis=1)
    p[31:36] = np.stack([np.linspace(0.45, 0.55, 5) + nose, np.full(5, 0.63)], axis=1)
    p[36:42] = [[0.33, 0.45], [0.36, 0.44], [0.39, 0.44], [0.42, 0.45], [0.39, 0.46], [0.36, 0.46]]
    p[42:48] = p[36:42] + np.array([0.25, 0.0])
    ring = np.linspace(np.pi, 3 * np.pi, 12, endpoint=False)
    p[48:60] = np.stack([0.5 + 0.1 * np.cos(ring), 0.74 + 0.04 * np.sin(ring)], axis=1)
    inner = np.linspace(np.pi, 3 * np.pi, 8, endpoint=False)
    p[60:68] = np.stack([0.5 + 0.07 * np.cos(inner), 0.74 + mouth * np.sin(inner)], axis=1)
    return p.reshape(1, -1)


def test_measures_follow_the_face():
    grey = np.full((1, 64, 64, 3), 128, np.uint8)
    plain, open_mouth, turned = (measures(grey, drawn(*how)) for how in ((0.0, 0.0), (0.03, 0.0), (0.0, 0.05)))
    assert open_mouth["open mouth"] > plain["open mouth"]
    assert turned["turned to the right"] > 0 > turned["turned to the left"]
    assert plain["turned to the right"] == pytest.approx(0, abs=1e-9)
    dark = grey.copy()
    dark[:, :12] = 10
    assert measures(dark, drawn())["dark hair"] > plain["dark hair"]
    lit = grey.copy()
    lit[:, :, :32] = 200
    assert measures(lit, drawn())["lit from the left"] > 0.1


def test_measures_are_finite_wherever_the_landmarks_are():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (20, 64, 64, 3)).astype(np.uint8)
    for places in (rng.random((20, 136)), 3 * rng.standard_normal((20, 136)), np.zeros((20, 136)) + 0.5):
        with np.errstate(all="ignore"):
            values = measures(pixels, places)
        assert values.keys() == set(MEASURED)
        if places.std() > 0:
            assert all(np.isfinite(column).all() for column in values.values())


def test_attributes_are_forty_and_thresholds_split_them():
    assert len(set(ATTRIBUTES)) == 40
    assert ATTRIBUTES[-3:] == LEARNED
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (60, 64, 64, 3)).astype(np.uint8)
    places = drawn() + 0.02 * rng.standard_normal((60, 136))
    told = chances(pixels, places, scales(pixels, places))
    assert told.shape == (60, 37)
    shares = dict(zip(MEASURED, (told > 0.5).mean(axis=0), strict=True))
    assert shares["open mouth"] == pytest.approx(0.5, abs=0.02)
    assert shares["turned to the left"] == pytest.approx(0.3, abs=0.02)


# --- the reader of the generator --------------------------------------------------------------------------------------


def test_haar_transform_by_hand():
    x = torch.tensor([1.0, 2.0, 4.0, 8.0]).reshape(1, 4, 1, 1)
    # mean 1, down 2, across 4, both 8, each times 1/2
    assert stylegan.double(x)[0, 0].tolist() == [[7.5, -4.5], [-2.5, 1.5]]
    energy = torch.randn(2, 8, 3, 3, generator=torch.Generator().manual_seed(0))
    assert stylegan.double(energy).square().sum() == pytest.approx(float(energy.square().sum()))  # it is orthogonal


def write_graph(path, nodes, edges):
    """A graph of OpenVINO: nodes (kind, array or None), edges (from, to, port)."""
    data, layers = b"", ""
    for number, (kind, array) in enumerate(nodes):
        held = ""
        if array is not None:
            array = np.asarray(array, np.float32)
            shape = ",".join(map(str, array.shape))
            held = f'<data element_type="f32" shape="{shape}" offset="{len(data)}" size="{array.nbytes}"/>'
            data += struct.pack(f"<{array.size}f", *array.ravel())
        layers += f'<layer id="{number}" type="{kind}">{held}</layer>'
    joined = "".join(f'<edge from-layer="{a}" from-port="0" to-layer="{b}" to-port="{port}"/>' for a, b, port in edges)
    path.write_text(f"<net><layers>{layers}</layers><edges>{joined}</edges></net>")
    path.with_suffix(".bin").write_bytes(data)


def test_reader_finds_constants_and_styles(tmp_path):
    nodes = [("Parameter", None), ("Const", [[1, 2], [3, 4]]), ("MatMul", None), ("Const", [[5, 6]]), ("Add", None),
             ("Const", [[0.5]]), ("Multiply", None)]  # fmt: skip
    write_graph(tmp_path / "g.xml", nodes, [(0, 2, 0), (1, 2, 1), (2, 4, 0), (3, 4, 1), (4, 6, 0), (5, 6, 1)])
    graph = stylegan._Graph(tmp_path / "g.xml")
    matrix, offset = graph.style("6")
    assert matrix.tolist() == [[0.5, 1], [1.5, 2]]
    assert offset.tolist() == [2.5, 3]
    assert graph.style("0") is None


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'eglearn-lab\[faces\]'"):
        stylegan.StyleGAN()
    with pytest.raises(ImportError, match=r"pip install 'eglearn-lab\[faces\]'"):
        load_faces.__wrapped__()


def test_command_names_what_is_wrong(tmp_path, monkeypatch, capsys):
    assert main(["data", "fit-faces", "--out", str(tmp_path), "--seed", "1"]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["data", "fit-faces", "--out", str(tmp_path / "a"), "--seed", "-1"]) == 2
    assert main(["data", "fit-faces", "--out", str(tmp_path / "no" / "a")]) == 2
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    capsys.readouterr()
    assert main(["data", "fit-faces", "--out", str(tmp_path / "a")]) == 1
    assert "pip install 'eglearn-lab[faces]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_subjects_are_known_by_name():
    assert set(SUBJECTS) == {"garments", "faces"}
    with pytest.raises(ValueError, match="no subject 'cars'"):
        find_subject("cars")


# --- fitting, with little data ----------------------------------------------------------------------------------------


class Stub:
    """Features that are the first 128 numbers of w, everywhere."""

    def features(self, w):
        return w[:, :128, None, None].expand(-1, -1, 64, 64)


def quiet(done, losses):
    pass


def test_head_learns_what_features_tell(tmp_path):
    w = torch.randn(4, N, generator=torch.Generator().manual_seed(0)).repeat(2, 1)
    grey = (127 + 60 * w[:, 0].clamp(-2, 2)).byte().numpy()
    photos = Photos(w, np.tile(grey[:, None, None, None], (1, 256, 256, 3)))
    how = {"held_out": 4, "seed": 0, "report": quiet}
    _, before = fitting.fit_head(Stub(), photos, torch.zeros(N), steps=1, checkpoint=tmp_path / "a", **how)
    _, after = fitting.fit_head(Stub(), photos, torch.zeros(N), steps=8, checkpoint=tmp_path / "b", **how)
    assert after > before + 3  # dB


def test_critic_and_classifier_learn(tmp_path):
    rng = np.random.default_rng(0)
    bright = rng.random(64) < 0.5
    images = torch.from_numpy(
        (bright[:, None, None, None] * 150 + rng.integers(0, 80, (64, 3, 64, 64))).astype(np.uint8)
    )
    how = {"steps": 8, "seed": 0, "report": quiet}
    classifier, _ = fitting.fit_classifier(images, bright[:, None].astype(float), checkpoint=tmp_path / "a", **how)
    critic, _ = fitting.fit_critic(images, np.where(bright, 2.0, 0.5), checkpoint=tmp_path / "b", **how)
    with torch.inference_mode():
        told = classifier(images.float() / 255)[:, 0].numpy()
        poor = critic(images.float() / 255).numpy()
    assert told[bright].mean() > told[~bright].mean()
    assert poor[bright].mean() > poor[~bright].mean()


# --- with the packages of the extra -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def faces():
    return load_faces()


@needs_extra
def test_generator_makes_faces_alone_or_together(faces):
    z = np.random.default_rng(0).standard_normal((5, N))
    images = faces.networks.generator(z)
    assert images.shape == (5, 64, 64, 3)
    assert images.min() >= 0
    assert images.max() <= 1
    alone = np.concatenate([faces.networks.generator(point[None]) for point in z])
    assert np.abs(alone - images).max() < 1e-3
    assert np.abs(images - images.mean(axis=0)).mean() > 0.03


@needs_extra
def test_mapping_counts_directions_only_and_matches_the_shipped_mean():
    gan, latent = stylegan.StyleGAN(), load_parts().latent
    z = torch.randn(2000, N, generator=torch.Generator().manual_seed(7))
    with torch.inference_mode():
        w = gan.mapping(z)
        assert torch.allclose(w[:9], gan.mapping(7 * z[:9]), atol=1e-4)
    assert torch.allclose(w.mean(0), latent.mean, atol=0.1)


@needs_extra
def test_head_is_like_the_whole_generator():
    from eglearn_lab.experiments.latent.faces.photos import take_photo
    from eglearn_lab.experiments.latent.faces.pool import make_images

    gan, parts = stylegan.StyleGAN(), load_parts()
    with torch.no_grad():
        w = parts.latent.w(0.7 * torch.randn(2, N, generator=torch.Generator().manual_seed(11)))
        whole = fitting.shrink(np.stack([take_photo(gan, one) for one in w]))
    made = make_images(gan, parts.head, w)
    assert (made - whole).square().mean() < 0.015  # 18 dB
    assert (made - whole.flip(0)).square().mean() > 2 * (made - whole).square().mean()


@needs_extra
def test_critic_finds_points_far_off_poor(faces):
    z = np.random.default_rng(0).standard_normal((12, N))
    near, far = (np.tanh(faces.networks.critic(faces.networks.generator(scale * z))) for scale in (0.8, 3.0))
    assert near.mean() < 0 < far.mean()


@needs_extra
def test_landmarks_are_within_the_image_and_move_with_it(faces):
    image = faces.target_images[:1]
    places = faces.networks.landmarks(image).reshape(68, 2)
    assert (places > -0.05).all()
    assert (places < 1.05).all()  # a chin may be below the image
    moved = faces.networks.landmarks(np.roll(image, 2, axis=2)).reshape(68, 2)
    assert np.median(moved[:, 0] - places[:, 0]) == pytest.approx(2 / 64, abs=0.012)


@needs_extra
def test_target_image_is_where_the_landmarks_say(faces):
    terms = faces.cost(3).terms_of_images(faces.target_images[3:4])
    assert terms.landmarks[0] < 1e-6
    assert faces.cost(3).terms_of_images(faces.target_images[4:5]).landmarks[0] > 0.005
    with pytest.raises(ValueError, match="0 to 15"):
        faces.target(16)


@needs_extra
def test_search_and_page(tmp_path, faces):
    rows = runs.run_searches(tmp_path, ["random", "auto"], subject="faces", problems=1, budget=20)
    assert [row["evaluations"] for row in rows] == [20, 20]
    assert rows[1]["cost"] <= rows[1]["cost_start"] == pytest.approx(faces.cost(0)(start()), abs=1e-3)
    page = write_gallery(tmp_path, tmp_path / "docs", "faces")
    text = page.read_text(encoding="utf-8")
    assert page.name == "faces.md"
    assert "non-commercial" in text
    assert "| open mouth |" in text
    for name in ("found", "samples", "convergence"):
        assert (tmp_path / "docs" / f"faces_{name}.png").stat().st_size > 5000
    with pytest.raises(ValueError, match="were not made with the garments"):
        write_gallery(tmp_path, tmp_path / "docs", "garments")
