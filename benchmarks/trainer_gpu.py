"""One GPU, a transformer of 124M parameters in bfloat16: plain torch, ours, and Opacus, in one run.

Run it from the repository's root on a machine with a GPU, torch and numpy:

    PYTHONPATH=src:.gpu-deps python -m benchmarks.trainer_gpu [--opacus FOLDER] [--tiny]

`.gpu-deps` is a folder of unpacked wheels for that machine's Python: gmpy2, cryptography, cffi and
pycparser. FOLDER holds those of Opacus and what it needs (opacus, opt_einsum). scikit-learn and
scipy are not needed: the package that holds the estimators is stepped over. It prints one JSON line
a method, with milliseconds and peak memory of one step: `--people` sequences of `--length` tokens.
"""

import argparse
import json
import sys
import time
import types
from pathlib import Path

beside = Path(__file__).parent  # as a script its folder comes first, where `profile` is another one
sys.path[:] = [one for one in sys.path if Path(one).resolve() != beside.resolve()]

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import discreet  # noqa: E402

learn = types.ModuleType("discreet.learn")  # its own __init__ wants scikit-learn
learn.__path__ = [str(Path(discreet.__file__).parent / "learn")]
sys.modules["discreet.learn"] = learn

import numpy as np  # noqa: E402

from discreet.learn.torch import Trainer  # noqa: E402
from discreet.learn.torch.inspection import inspect  # noqa: E402
from discreet.learn.torch.sampling import PeopleSampler  # noqa: E402


class Block(nn.Module):
    """Attention and a feed-forward part, each after a layer norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.join, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        """One block."""
        rows, places, width = x.shape
        shape = rows, places, 3, self.heads, width // self.heads
        q, k, v = self.join(self.first(x)).view(shape).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, places, width))
        return x + self.down(functional.gelu(self.up(self.second(x))))


class Language(nn.Module):
    """Next words."""

    def __init__(self, words, width, heads, depth, length):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x):
        """Scores of the next word at every place."""
        places = torch.arange(x.shape[1], device=x.device).repeat(len(x), 1)
        return self.head(self.norm(self.blocks(self.words(x) + self.places(places))))


def losses(scores, words):
    each = functional.cross_entropy(scores.flatten(0, 1), words.flatten(), reduction="none")
    return each.view(words.shape).mean(1)


def autocast(device):
    return torch.autocast(device.type, dtype=torch.bfloat16)


def plain(model, x, given):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        for part in x.split(given.at_once):
            with autocast(x.device):
                loss = losses(model(part), part).sum() / len(x)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def ours(model, x, given):
    trainer = Trainer(
        model,
        losses,
        epsilon=8,
        delta=1e-6,
        epochs=1,
        batch=given.people,
        people=100 * given.people,
        at_once=given.at_once,
        precision=torch.bfloat16,
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
    )
    gradients = inspect(model, trainer._losses, (x,), x)  # noqa: SLF001 - one step is measured
    sampler = PeopleSampler((x.cpu(),), x.cpu(), None, rows=1, at_once=given.at_once)
    sampler.sample = lambda *_: np.arange(given.people)

    def step():
        trainer._take_step(sampler, gradients)  # noqa: SLF001

    return step


def noise_alone(model, x, given):
    """The part of a step that does not grow with the batch."""
    del given
    from discreet.learn.torch.grid_noise import GradientNoise  # noqa: PLC0415

    count = sum(p.numel() for p in model.parameters())
    noise = GradientNoise(sensitivity=1 << 24, sigma=1 << 24, dimension=count)
    sums = torch.zeros(count, dtype=torch.int64, device=x.device)

    def step():
        noise.release(sums)

    return step


def opacus_hooks(model, x, given):
    from opacus.grad_sample import GradSampleModule  # noqa: PLC0415
    from opacus.optimizers import DPOptimizer  # noqa: PLC0415

    wrapped = GradSampleModule(model)
    optimizer = DPOptimizer(
        torch.optim.SGD(wrapped.parameters(), lr=1e-3),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        expected_batch_size=given.people,
    )
    parts = x.split(given.opacus_at_once)

    def step():
        for at, part in enumerate(parts):
            with autocast(x.device):
                loss = losses(wrapped(part), part).mean()
            loss.backward()
            optimizer.signal_skip_step(do_skip=at < len(parts) - 1)
            optimizer.step()
            optimizer.zero_grad()

    return step


def opacus_ghost(model, x, given):
    from opacus.grad_sample import GradSampleModuleFastGradientClipping  # noqa: PLC0415
    from opacus.optimizers import DPOptimizerFastGradientClipping  # noqa: PLC0415
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping  # noqa: PLC0415

    wrapped = GradSampleModuleFastGradientClipping(
        model, max_grad_norm=1.0, use_ghost_clipping=True, loss_reduction="mean"
    )
    optimizer = DPOptimizerFastGradientClipping(
        torch.optim.SGD(wrapped.parameters(), lr=1e-3),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        expected_batch_size=given.people,
    )

    def each(scores, words):
        return losses(scores, words)

    each.reduction = "mean"
    criterion = DPLossFastGradientClipping(wrapped, optimizer, each, "mean")
    parts = x.split(given.opacus_at_once)

    def step():
        for at, part in enumerate(parts):
            optimizer.signal_skip_step(do_skip=at < len(parts) - 1)
            with autocast(x.device):
                loss = criterion(wrapped(part), part)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return step


def measure(make, given, device):
    torch.manual_seed(0)
    shape = (1000, 64, 4, 2) if given.tiny else (50257, 768, 12, 12)
    model = Language(*shape, given.length).to(device)
    x = torch.randint(0, shape[0], (given.people, given.length), device=device)
    step, times = make(model, x, given), []
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    until = time.perf_counter() + given.seconds
    while len(times) < 3 or (time.perf_counter() < until and len(times) < 20):
        begin = time.perf_counter()
        step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    memory = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else 0.0
    count = sum(p.numel() for p in model.parameters())
    return {
        "method": make.__name__,
        "parameters": count,
        "milliseconds": round(sorted(times[1:])[len(times[1:]) // 2], 1),
        "least": round(min(times[1:]), 1),
        "gibibytes": round(memory, 2),
    }


def main():
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--opacus", help="a folder to import Opacus from")
    reader.add_argument("--tiny", action="store_true", help="a small model, to try the script")
    reader.add_argument("--people", type=int, default=256)
    reader.add_argument("--length", type=int, default=512)
    reader.add_argument("--at-once", type=int, default=32)
    reader.add_argument("--opacus-at-once", type=int, default=32)
    reader.add_argument("--seconds", type=float, default=15.0)
    given = reader.parse_args()
    if given.opacus:
        sys.path.append(given.opacus)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(json.dumps({"torch": torch.__version__, "device": device.type, **vars(given)}))
    base = None
    for make in (plain, ours, noise_alone, opacus_hooks, opacus_ghost):
        try:
            found = measure(make, given, device)
        except Exception as wrong:  # noqa: BLE001 - a peer that does not run is said so
            print(
                json.dumps({"method": make.__name__, "failed": f"{type(wrong).__name__}: {wrong}"})
            )
            continue
        finally:
            if device.type == "cuda":
                torch.cuda.empty_cache()
        base = base or found["milliseconds"]
        print(
            json.dumps({**found, "over plain": round(found["milliseconds"] / base, 3)}), flush=True
        )


if __name__ == "__main__":
    main()
