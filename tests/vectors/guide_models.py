#!/usr/bin/env python3
"""Makes the models of docs/guide/models with the real runtime: a small image classifier of random
weights, and the same one quantised to 8 bits with one range that is far too narrow.

    python tests/vectors/guide_models.py docs/guide/models

Needs openvino and numpy. Layers have names, so that two runs write the same files.
"""

import argparse
import pathlib

import numpy as np
import openvino as ov
from openvino import opset13 as op


def named(node, name):
    node.set_friendly_name(name)
    node.output(0).set_names({name})
    return node


def classifier(quantised):
    rng = np.random.default_rng(7)

    def weights(name, shape, scale):
        values = (rng.standard_normal(shape) * scale).astype(np.float32)
        node = op.constant(values)
        node.set_friendly_name(name)
        return quantise(node, f"{name}/fq", float(np.abs(values).max()))

    def quantise(value, name, limit, low=None):
        if not quantised:
            return value
        low = -limit if low is None else low
        bounds = [op.constant(np.float32(v)) for v in (low, limit, low, limit)]
        for node, end in zip(bounds, ("low", "high", "out_low", "out_high")):
            node.set_friendly_name(f"{name}/{end}")
        node = op.fake_quantize(value, *bounds, levels=256)
        node.set_friendly_name(name)
        return node

    def convolution(value, name, inputs, outputs):
        filters = weights(f"{name}/weights", (outputs, inputs, 3, 3), 1 / np.sqrt(9 * inputs))
        value = op.convolution(value, filters, [1, 1], [1, 1], [1, 1], [1, 1])
        value = named(value, name)
        bias = op.constant((rng.standard_normal((1, outputs, 1, 1)) * 0.1).astype(np.float32))
        bias.set_friendly_name(f"{name}/bias")
        value = named(op.add(value, bias), f"{name}/add")
        return named(op.relu(value), f"{name}/relu")

    image = op.parameter([1, 3, 32, 32], np.float32, name="image")
    image.output(0).set_names({"image"})
    value = convolution(quantise(image, "image/fq", 1.0, 0.0), "conv1", 3, 8)
    value = op.max_pool(value, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2])
    value = quantise(named(value, "pool").output(0), "pool/fq", 2.5, 0.0)
    # What a calibration on too few images does: most of the range is cut off.
    value = convolution(value, "conv2", 8, 16)
    value = quantise(value, "conv2/fq", 0.25, 0.0)
    value = convolution(value, "conv3", 16, 16)
    axes = op.constant(np.array([2, 3], np.int64))
    axes.set_friendly_name("mean/axes")
    value = named(op.reduce_mean(value, axes, keep_dims=False), "mean")
    value = named(op.matmul(value, weights("head/weights", (16, 10), 1.0), False, False), "head")
    value = named(op.softmax(value, 1), "probabilities")
    result = op.result(value)
    result.set_friendly_name("output")
    name = "classifier-int8" if quantised else "classifier"
    return ov.Model([result], [image], name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for quantised in (False, True):
        model = classifier(quantised)
        ov.save_model(model, folder / f"{model.get_friendly_name()}.xml", compress_to_fp16=False)
    image = np.random.default_rng(8).random((1, 3, 32, 32)).astype(np.float32)
    np.save(folder / "image.npy", image)


if __name__ == "__main__":
    main()
