"""One step of the trainer on a CPU: plain torch, ours, and Opacus where it can be imported.

    python -m benchmarks.trainer_cpu transformer-0.5M ours

prints CPU milliseconds of the quickest of a few steps on one thread, and the megabytes they took
beside what was there. One method a process, so that memory is its own.
"""

import json
import resource
import sys
import time

import numpy as np
import torch
from torch import nn

from benchmarks.trainer_gpu import Language, losses


def model_of(name):
    torch.manual_seed(0)
    match name:
        case "transformer-0.5M":
            return Language(500, 128, 4, 2, 64), losses, torch.randint(0, 500, (128, 64)), None
        case "transformer-3.7M":
            return Language(1000, 256, 4, 4, 128), losses, torch.randint(0, 1000, (32, 128)), None
        case "cnn":
            first = [nn.Conv2d(1, 16, 8, 2, 3), nn.ReLU(), nn.MaxPool2d(2, 1)]
            second = [nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Flatten()]
            layers = [*first, *second, nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10)]
            x = torch.randn(512, 1, 28, 28)
        case _:
            layers = []
            for before, after in ((3, 32), (32, 64), (64, 128)):
                layers += [nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(8, after)]
                layers += [nn.ReLU(), *([nn.MaxPool2d(2)] if after > 32 else [])]
            layers += [nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4)]
            layers += [nn.Flatten(), nn.Linear(2048, 128), nn.ReLU(), nn.Linear(128, 10)]
            x = torch.randn(256, 3, 32, 32)
    each = nn.CrossEntropyLoss(reduction="none")
    return nn.Sequential(*layers), each, x, torch.randint(0, 10, (len(x),))


def plain(model, loss, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss(model(x), y).mean().backward()
        optimizer.step()

    return step


def ours(model, loss, x, y):
    from discreet.learn.torch import Trainer  # noqa: PLC0415 - plain torch is measured without
    from discreet.learn.torch.inspection import inspect  # noqa: PLC0415
    from discreet.learn.torch.sampling import PeopleSampler  # noqa: PLC0415

    told = {"epsilon": 3, "delta": 1e-5, "epochs": 1, "batch": len(x), "people": 100 * len(x)}
    trainer = Trainer(model, loss, **told, optimizer=lambda p: torch.optim.SGD(p, lr=0.01))
    _ = trainer.noise
    gradients = inspect(model, trainer._losses, (x,), y)  # noqa: SLF001 - one step is measured
    sampler = PeopleSampler((x,), y, None, rows=1, at_once=trainer.at_once)
    sampler.sample = lambda *_: np.arange(len(x))
    return lambda: trainer._take_step(sampler, gradients)  # noqa: SLF001


def opacus(model, loss, x, y):
    from opacus.grad_sample import GradSampleModule  # noqa: PLC0415
    from opacus.optimizers import DPOptimizer  # noqa: PLC0415

    wrapped = GradSampleModule(model)
    optimizer = DPOptimizer(
        torch.optim.SGD(wrapped.parameters(), lr=0.01),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        expected_batch_size=len(x),
    )

    def step():
        optimizer.zero_grad()
        loss(wrapped(x), y).mean().backward()
        optimizer.step()

    return step


def main():
    name, method = sys.argv[1:]
    torch.set_num_threads(1)
    model, loss, x, y = model_of(name)
    step, times = globals()[method](model, loss, x, x if y is None else y), []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(6):
        begin = time.process_time()
        step()
        times.append(time.process_time() - begin)
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps([name, method, round(min(times) * 1e3, 1), round(extra)]))


if __name__ == "__main__":
    main()
