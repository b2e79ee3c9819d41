#!/usr/bin/env python3
"""Whole models with random weights, as ONNX and OpenVINO IR, with random inputs that are the same
each time. Nothing is downloaded.

    nets.py FOLDER [PART-OF-A-NAME ...]"""

import json
import os
import sys
import warnings

import numpy as np
import openvino as ov
import protocol
import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional

warnings.filterwarnings("ignore")


def block(channels, filters, kernel=3, stride=1, activation=nn.SiLU):
    convolution = nn.Conv2d(channels, filters, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(filters), activation())


class UNet(nn.Module):
    """Five levels of two convolutions each, up again by transposed convolutions."""

    def __init__(self, width=32):
        super().__init__()
        sizes = [width << level for level in range(5)]
        pair = lambda a, b: nn.Sequential(
            block(a, b, activation=nn.ReLU), block(b, b, activation=nn.ReLU)
        )
        self.down = nn.ModuleList(map(pair, [3, *sizes[:-1]], sizes))
        steps = list(zip(sizes[:0:-1], sizes[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in steps)
        self.join = nn.ModuleList(pair(a, b) for a, b in steps)
        self.last = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        levels = []
        for down in self.down:
            x = down(functional.max_pool2d(x, 2) if levels else x)
            levels.append(x)
        for up, join, level in zip(self.up, self.join, levels[-2::-1]):
            x = join(torch.cat([level, up(x)], 1))
        return self.last(x)


class Split(nn.Module):
    """Half of the channels goes through pairs of convolutions; every stage is kept."""

    def __init__(self, channels, filters, count, residual):
        super().__init__()
        half = filters // 2
        self.first, self.residual = block(channels, filters, 1), residual
        pair = lambda: nn.Sequential(block(half, half), block(half, half))
        self.pairs = nn.ModuleList(pair() for _ in range(count))
        self.last = block((2 + count) * half, filters, 1)

    def forward(self, x):
        stages = list(self.first(x).chunk(2, 1))
        for pair in self.pairs:
            y = pair(stages[-1])
            stages.append(stages[-1] + y if self.residual else y)
        return self.last(torch.cat(stages, 1))


class Detector(nn.Module):
    """A one-stage detector without anchors, as large and as deep as the usual nano models: three
    scales, of which each gives 80 classes and four distances, each a distribution of 16 bins."""

    def __init__(self, side=640):
        super().__init__()
        stem = lambda a, b, count: nn.Sequential(block(a, b, 3, 2), Split(b, b, count, True))
        self.stem = nn.Sequential(block(3, 16, 3, 2), stem(16, 32, 1), stem(32, 64, 2))
        self.deeper, self.deepest = stem(64, 128, 2), stem(128, 256, 1)
        self.pool_in, self.pool_out = block(256, 128, 1), block(512, 256, 1)
        self.up = nn.ModuleList([Split(384, 128, 1, False), Split(192, 64, 1, False)])
        self.halve = nn.ModuleList([block(64, 64, 3, 2), block(128, 128, 3, 2)])
        self.down = nn.ModuleList([Split(192, 128, 1, False), Split(384, 256, 1, False)])
        head = lambda a, b, out: nn.Sequential(block(a, b), block(b, b), nn.Conv2d(b, out, 1))
        self.boxes = nn.ModuleList(head(channels, 64, 64) for channels in (64, 128, 256))
        self.classes = nn.ModuleList(head(channels, 80, 80) for channels in (64, 128, 256))
        centres, strides = [], []
        for stride in (8, 16, 32):
            place = (torch.arange(side // stride) + 0.5) * stride
            y, x = torch.meshgrid(place, place, indexing="ij")
            centres.append(torch.stack([x, y]).flatten(1))
            strides.append(torch.full((place.numel() ** 2,), float(stride)))
        self.register_buffer("centres", torch.cat(centres, 1))
        self.register_buffer("strides", torch.cat(strides))
        self.register_buffer("bins", torch.arange(16.0).reshape(1, 1, 16, 1))

    def forward(self, x):
        fine = self.stem(x)
        middle = self.deeper(fine)
        pooled = [self.pool_in(self.deepest(middle))]
        for _ in range(3):
            pooled.append(functional.max_pool2d(pooled[-1], 5, 1, 2))
        coarse = self.pool_out(torch.cat(pooled, 1))
        double = lambda y: functional.interpolate(y, scale_factor=2.0, mode="nearest")
        middle = self.up[0](torch.cat([double(coarse), middle], 1))
        fine = self.up[1](torch.cat([double(middle), fine], 1))
        middle = self.down[0](torch.cat([self.halve[0](fine), middle], 1))
        coarse = self.down[1](torch.cat([self.halve[1](middle), coarse], 1))
        scales = (fine, middle, coarse)
        gather = lambda heads: torch.cat([h(s).flatten(2) for h, s in zip(heads, scales)], 2)
        bins = gather(self.boxes).reshape(1, 4, 16, -1).softmax(2)
        before, after = ((bins * self.bins).sum(2) * self.strides).chunk(2, 1)
        box = torch.cat([self.centres + (after - before) / 2, before + after], 1)
        return torch.cat([box, gather(self.classes).sigmoid()], 1)


class Forward(nn.Module):
    """A module and how it is called, so that inputs and outputs are tensors alone."""

    def __init__(self, module, call):
        super().__init__()
        self.module, self.call = module, call

    def forward(self, *inputs):
        return self.call(self.module, *inputs)


def vision(name):
    model = getattr(torchvision.models, name)(weights=None)
    if name.startswith("vit"):
        # Zeros as it is made.
        nn.init.normal_(model.heads.head.weight, std=0.02)
    return model


def ssdlite():
    make = torchvision.models.detection.ssdlite320_mobilenet_v3_large
    model = make(weights=None, weights_backbone=None)

    def call(model, x):
        found = model([x[0]])
        found = found[1] if isinstance(found, tuple) else found
        return found[0]["boxes"], found[0]["scores"], found[0]["labels"]

    return Forward(model, call)


def bert(size, layers):
    config = transformers.BertConfig(
        hidden_size=size,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=4 * size,
        attn_implementation="eager",
    )
    model = transformers.BertModel(config, add_pooling_layer=False)
    call = lambda model, ids, mask, kinds: model(
        input_ids=ids, attention_mask=mask, token_type_ids=kinds
    ).last_hidden_state
    return Forward(model, call)


def gpt2():
    config = transformers.GPT2Config(attn_implementation="eager")
    call = lambda model, ids, mask: model(
        input_ids=ids, attention_mask=mask, use_cache=False
    ).logits
    return Forward(transformers.GPT2LMHeadModel(config), call)


def image(side):
    shape = (1, 3, side, side)
    return lambda random: {"input": random.standard_normal(shape, dtype=np.float32)}


def tokens(batch, words, kinds=True):
    def draw(random):
        shape = (batch, 128)
        inputs = {"input_ids": random.integers(0, words, shape)}
        inputs["attention_mask"] = np.ones(shape, np.int64)
        if kinds:
            inputs["token_type_ids"] = np.zeros(shape, np.int64)
        return inputs

    return draw


NETS = {
    "resnet50": (lambda: vision("resnet50"), image(224)),
    "mobilenet_v3_large": (lambda: vision("mobilenet_v3_large"), image(224)),
    "efficientnet_b0": (lambda: vision("efficientnet_b0"), image(224)),
    "yolo_nano_640": (Detector, image(640)),
    "ssdlite320": (ssdlite, image(320)),
    "unet_w32_256": (UNet, image(256)),
    "vit_b_16": (lambda: vision("vit_b_16"), image(224)),
    "bert_base_1x128": (lambda: bert(768, 12), tokens(1, 30522)),
    "minilm_l6_1x128": (lambda: bert(384, 6), tokens(1, 30522)),
    "minilm_l6_8x128": (lambda: bert(384, 6), tokens(8, 30522)),
    "gpt2_1x128": (gpt2, tokens(1, 50257, kinds=False)),
}


@torch.no_grad()
def calibrate(model, example):
    """Statistics of two random batches, so that activations neither vanish nor overflow."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None
        norm.reset_running_stats()
        norm.train()
    for _ in range(2 if norms else 0):
        model(*(torch.randn_like(value) for value in example))
    model.eval()


def write(folder, name):
    make, draw = NETS[name]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(1)
    model = make().eval()
    inputs = draw(np.random.default_rng(1))
    protocol.write_inputs(folder, inputs)
    example = tuple(map(torch.from_numpy, inputs.values()))
    if name != "ssdlite320":
        calibrate(model, example)
    path = os.path.join(folder, "model.onnx")
    # The exporter that follows the model as it runs; the newer one needs further packages.
    torch.onnx.export(
        model, example, path, input_names=list(inputs), opset_version=17, dynamo=False
    )
    ov.save_model(
        ov.convert_model(path), os.path.join(folder, "model.xml"), compress_to_fp16=False
    )
    with open(os.path.join(folder, "meta.json"), "w") as file:
        parameters = sum(value.numel() for value in model.parameters())
        json.dump({"name": name, "parameters": parameters}, file)


def main():
    folder, *parts = sys.argv[1:]
    for name in NETS:
        place = os.path.join(folder, name)
        wanted = not parts or any(part in name for part in parts)
        # What is there in full is not made anew: meta.json is written last.
        if wanted and not os.path.exists(os.path.join(place, "meta.json")):
            write(place, name)
            print(name, flush=True)


if __name__ == "__main__":
    main()
