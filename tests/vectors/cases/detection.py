"""Detection, and the sorting of boxes."""

import numpy as np

from .common import Case, P, c, ints, operation, p
from .types import encode

# Overlaps that lie on no threshold used here, scores that are all different.
BOXES = [[0, 0, 4, 4], [0, 1, 4, 4.5], [.5, 0, 4, 3], [6, 6, 9, 8], [5.5, 6, 9, 8.5], [2, 7, 3, 8]]
SCORES = [[.9, .75, .6, .3, .8, .4], [.2, .95, .1, .7, .65, .5]]


def boxes(et="f32", batches=1, shift=0.0):
    return p(et, [np.array(BOXES) + shift * i for i in range(batches)])


def scores(et="f32", batches=1, classes=2):
    return p(et, [np.array(SCORES[:classes]) - .03125 * i for i in range(batches)])


def nms(version):
    @operation(f"NonMaxSuppression-{version}")
    def cases():
        def n(name, most, iou=None, lowest=None, sigma=None, et="f32", batches=1, classes=2, args=None, tt="f32", **attrs):
            ins = args or [boxes(et, batches, .5), scores(et, batches, classes)]
            ins = ins + [ints(most) if most is not None else None]
            ins += [c(tt, x) for x in (iou, lowest, sigma) if x is not None]
            return Case(name, "NonMaxSuppression", f"opset{version}", [a for a in ins if a is not None], attrs)
        exact = version in (5, 9)
        # The rows of the older versions are all in use here: the runtime leaves the rest out.
        yield n("fills-rows", 1, .5, 0.0, batches=2 if version == 4 else 1)
        if version in (4, 9):
            for et in ("f16", "bf16"):
                yield n(f"{et}-fills-rows", 2, .9, 0.0, et=et)
        yield n("unsorted", 2, .9, 0.0, sort_result_descending=False)
        yield n("center", 2, .9, 0.0, box_encoding="center")
        if version > 1:
            yield n("i32", 2, .9, 0.0, output_type="i32")
        if not exact:
            yield n("filled-up", 3, .5, .65)
            return
        if version == 5:
            yield n("iou", 10, .5, .25, batches=2)
            yield n("soft-below-threshold", 10, 1.0, .0625, .5)
            yield n("soft-above-threshold", 10, .5, .0625, .5)
            return
        for sort in (True, False):
            yield n(f"iou-{sort}".lower(), 10, .5, .25, batches=2, sort_result_descending=sort)
        yield n("most-2", 2, .5, .25, batches=2)
        yield n("turned-corners", 10, .5, .25, args=[p("f32", [[[b[i] for i in (2, 1, 0, 3)] for b in BOXES]]), scores()])
        yield n("no-score-threshold", 10, .5)
        yield n("no-thresholds", 10)
        yield n("high-threshold", 10, .5, 2.0)
        yield n("one-element-inputs", [10], [.5], [.25])
        yield n("center-all", 10, .4, .25, box_encoding="center", output_type="i32")
        yield n("soft", 10, .5, .0625, .5, batches=2)
        yield n("soft-unsorted", 3, .5, .0625, .25, sort_result_descending=False)
        yield n("f16-thresholds", 10, .5, .25, tt="f16")


for version in (1, 3, 4, 5, 9):
    nms(version)


@operation("NMSRotated-13")
def nms_rotated():
    turned = [[5, 5, 4, 2, 0], [5.25, 5, 4, 2, .25], [5, 5, 2, 4, 1.5], [1, 1, 2, 2, .5], [7, 6, 6, 1, .75], [5, 5, 4.25, 2, .125]]

    def n(name, most, iou, lowest, batches=1, et="f32", doubt=None, **attrs):
        args = [p(et, [turned] * batches), scores(et, batches), ints(most), c("f32", iou), c("f32", lowest)]
        return Case(name, "NMSRotated", "opset13", args, attrs, doubt=doubt)
    yield n("all", 9, .9375, 0.0)
    yield n("half", 9, .5, .25, 2)
    yield n("little", 9, .125, .25, output_type="i32")
    yield n("unsorted", 2, .5, .25, sort_result_descending=False)
    yield n("none", 9, .5, 2.0)
    for et in ("f16", "bf16"):
        yield n(et, 9, .25, .25, et=et)
    yield n("counterclockwise", 9, .25, .25, clockwise=False, doubt={"core": "turns the first box alone, again and again"})


@operation("MatrixNms-8")
def matrix_nms():
    def m(name, batches=1, et="f32", shift=.5, **attrs):
        attrs = {"score_threshold": .125, "nms_top_k": -1, "keep_top_k": -1, **attrs}
        return Case(name, "MatrixNms", "opset8", [boxes(et, batches, shift), scores(et, batches)], attrs)
    yield m("linear")
    yield m("gaussian", decay_function="gaussian", gaussian_sigma=.5)
    yield m("pixels", normalized=False)
    yield m("batches", 2)
    yield m("post-threshold", 2, post_threshold=.4)
    yield m("top-k", 2, nms_top_k=3, keep_top_k=4)
    yield m("background", 2, background_class=0)
    yield m("score-across", 2, sort_result_type="score", sort_result_across_batch=True)
    yield m("class-across", 2, sort_result_type="classid", sort_result_across_batch=True)
    yield m("class", 2, sort_result_type="classid")
    yield m("i32", output_type="i32")


def multiclass_nms(version):
    @operation(f"MulticlassNms-{version}")
    def cases():
        def m(name, batches=1, et="f32", args=None, **attrs):
            attrs = {"score_threshold": .125, "iou_threshold": .5, "nms_top_k": -1, "keep_top_k": -1, **attrs}
            return Case(name, "MulticlassNms", f"opset{version}", args or [boxes(et, batches, .5), scores(et, batches)], attrs)
        yield m("one")
        yield m("batches", 2)
        yield m("top-k", 2, nms_top_k=3, keep_top_k=3)
        yield m("background", 2, background_class=1)
        yield m("pixels", normalized=False, iou_threshold=.4)
        if version == 8:
            yield m("classid-across", 2, sort_result_type="classid", sort_result_across_batch=True)
            return
        for sort in ("none", "score", "classid"):
            for across in (False, True):
                yield m(f"{sort}-{'across' if across else 'each'}", 2, sort_result_type=sort, sort_result_across_batch=across)
        yield m("i32", output_type="i32")
        yield m("threshold-0.9", iou_threshold=.9)
        yield m("nothing", score_threshold=2.0)
        both = p("f32", [np.array(BOXES), np.array(BOXES) + .5])
        for counts in ([2, 0, 4], [3, 3]):
            yield m(f"roisnum-{'-'.join(map(str, counts))}", args=[both, p("f32", SCORES), p("i32", counts)], sort_result_type="classid")
        yield m("roisnum-i64-across", args=[both, p("f32", SCORES), p("i64", [3, 3])], sort_result_type="score", sort_result_across_batch=True)


multiclass_nms(8)
multiclass_nms(9)


@operation("ExperimentalDetectronTopKROIs-6")
def top_k_rois():
    for et in ("f32", "f16", "bf16"):
        for most in (1, 4, 6) if et == "f32" else (4,):
            yield Case(f"{et}-{most}", "ExperimentalDetectronTopKROIs", "opset6", [p(et, BOXES), p(et, SCORES[0])], {"max_rois": most})


def f32s(*values):
    return np.array(values, np.float32)


def prior_box(version):
    @operation(f"PriorBox-{version}")
    def cases():
        def b(name, grid=(2, 3), image=(20, 30), it="i64", doubt=None, **attrs):
            attrs = {k: f32s(*v) if isinstance(v, tuple) else v for k, v in {"offset": .5, **attrs}.items()}
            return Case(name, "PriorBox", f"opset{version}", [c(it, grid), c(it, image)], attrs, doubt=doubt)
        if version == 8:
            yield b("ratios-first", min_size=(4.0, 6.0), max_size=(9.0,), aspect_ratio=(2.0,), min_max_aspect_ratios_order=False)
            yield b("min-first", min_size=(4.0, 6.0), max_size=(9.0,), aspect_ratio=(2.0,))
            return
        for it in ("i32", "u8", "i64"):
            yield b(f"{it}-min", it=it, min_size=(4.0,))
        yield b("min-max-ratio", min_size=(4.0, 6.0), max_size=(9.0, 12.0), aspect_ratio=(2.0, 3.0), flip=True)
        yield b("ratios-twice", min_size=(4.0,), aspect_ratio=(2.0, 1.0, 2.0, .5), flip=True)
        yield b("step-offset", min_size=(4.0,), step=8.0, offset=.25)
        yield b("clip", min_size=(30.0,), clip=True)
        yield b("variance-1", min_size=(4.0,), variance=(.3,))
        yield b("variance-4", min_size=(4.0,), variance=(.1, .2, .3, .4))
        yield b("relative", min_size=(.25, .5), aspect_ratio=(2.0,), scale_all_sizes=False, step=.125)
        yield b("relative-step-minus-1", min_size=(.25,), scale_all_sizes=False, step=-1.0)
        yield b("fixed", fixed_size=(5.5, 8.0), density=(2.0, 1.0))
        yield b("fixed-ratios", fixed_size=(9.0,), density=(3.0,), aspect_ratio=(2.0,), flip=True)
        yield b("fixed-ratio", fixed_size=(9.0,), density=(2.0,), fixed_ratio=(2.0,))
        yield b("fixed-two-ratios", fixed_size=(9.0,), density=(2.0,), fixed_ratio=(2.0, 1.0))
        yield b("fixed-beyond", grid=(1, 1), fixed_size=(40.0,), density=(1.0,))
        yield b("relative-with-max", min_size=(.25, .5), max_size=(.5,), scale_all_sizes=False)
        yield b("empty-grid", grid=(0, 3), min_size=(4.0,))


prior_box(1)
prior_box(8)


@operation("PriorBoxClustered-1")
def prior_box_clustered():
    def b(name, it="i64", **attrs):
        attrs = {"width": (4.0, 6.0), "height": (2.0, 9.0), "offset": .5, "clip": False, **attrs}
        attrs = {k: f32s(*v) if isinstance(v, tuple) else v for k, v in attrs.items()}
        return Case(name, "PriorBoxClustered", "opset1", [c(it, (2, 3)), c(it, (20, 30))], attrs)
    for it in ("i32", "u8", "i64"):
        yield b(it, it)
    yield b("clip", clip=True, width=(40.0,), height=(50.0,))
    yield b("step", step=8.0)
    yield b("step-one", step=8.0, step_w=4.0)
    yield b("steps", step_w=4.0, step_h=6.0, offset=.25)
    yield b("variance-1", variance=(.3,))
    yield b("variance-4", variance=(.1, .2, .3, .4))


def detection_output(version):
    @operation(f"DetectionOutput-{version}")
    def cases():
        rng = np.random.default_rng(7)
        priors, classes = 5, 3

        def d(name, images=1, arm=False, prior_images=1, et="f32", **attrs):
            attrs = {"keep_top_k": np.array([5], np.int32), "nms_threshold": .4, "confidence_threshold": .2, "normalized": True,
                     "code_type": "caffe.PriorBoxParameter.CENTER_SIZE", **attrs}
            if version == 1:
                attrs["num_classes"] = classes
            size = 4 if attrs["normalized"] else 5
            places = 1 if attrs.get("share_location", True) else classes
            logits = (rng.random((images, priors * places * 4)) - .5) * .75
            s = rng.permutation(images * priors * classes).reshape(images, -1) / (images * priors * classes)
            box = rng.random((prior_images, priors, 4)) * .5
            box[..., 2:] += .5
            if size == 5:
                box = np.concatenate([np.zeros((prior_images, priors, 1)), box * 16], 2)
            box = box.reshape(prior_images, 1, -1)
            if not attrs.get("variance_encoded_in_target"):
                box = np.concatenate([box, np.full_like(box, .25)], 1)
            args = [p(et, logits), p(et, s), p(et, box)]
            if arm:
                args += [p(et, rng.random((images, priors * 2))), p(et, (rng.random(logits.shape) - .5) * .5)]
            return Case(name, "DetectionOutput", f"opset{version}", args, attrs)
        yield d("center")
        if version == 8:
            yield d("places", share_location=False)
            yield d("decrease", decrease_label_id=True)
            return
        yield d("corner", code_type="caffe.PriorBoxParameter.CORNER")
        yield d("images", 2, keep_top_k=np.array([3], np.int32))
        yield d("priors-of-each", 2, prior_images=2, keep_top_k=np.array([4], np.int32))
        yield d("encoded", variance_encoded_in_target=True)
        yield d("encoded-corner", variance_encoded_in_target=True, code_type="caffe.PriorBoxParameter.CORNER")
        yield d("places", share_location=False)
        yield d("pixels", normalized=False, input_width=16, input_height=16, variance_encoded_in_target=True)
        yield d("pixels-variances", normalized=False, input_width=16, input_height=16)
        yield d("clip-before", clip_before_nms=True)
        yield d("clip-after", clip_after_nms=True)
        yield d("background", background_label_id=2)
        yield d("no-background", background_label_id=-1, keep_top_k=np.array([9], np.int32))
        yield d("top-k", top_k=2)
        yield d("top-k-alone", top_k=2, keep_top_k=np.array([-1], np.int32))
        yield d("all", keep_top_k=np.array([-1], np.int32))
        yield d("decrease", decrease_label_id=True)
        yield d("decrease-top-k", decrease_label_id=True, top_k=3, nms_threshold=.8)
        yield d("nothing", confidence_threshold=2.0)
        yield d("arm", arm=True, objectness_score=.4)
        yield d("arm-encoded", arm=True, objectness_score=.4, variance_encoded_in_target=True)


detection_output(1)
detection_output(8)


def proposal(version):
    @operation(f"Proposal-{version}")
    def cases():
        rng = np.random.default_rng(11)

        def q(name, batch=1, image=(24.0, 20.0, 1.0), et="f32", **attrs):
            attrs = {"base_size": 4, "pre_nms_topn": 20, "post_nms_topn": 6, "nms_thresh": .5, "feat_stride": 4, "min_size": 1,
                     "ratio": f32s(.5, 1.0), "scale": f32s(1.0, 2.0), **attrs}
            anchors = len(attrs["ratio"]) * len(attrs["scale"])
            s = rng.permutation(batch * anchors * 2 * 12).reshape(batch, anchors * 2, 4, 3) / (batch * anchors * 24)
            deltas = (rng.random((batch, anchors * 4, 4, 3)) - .5) * .5
            return Case(name, "Proposal", f"opset{version}", [p(et, s), p(et, deltas), p(et, image)], attrs)
        yield q("caffe")
        if version == 4:
            yield q("batch", 2)
            return
        yield q("batch", 2)
        yield q("tensorflow", framework="tensorflow")
        yield q("four-numbers", image=(24.0, 20.0, 1.0, 1.5))
        yield q("no-clip", clip_before_nms=False)
        yield q("clip-after", clip_before_nms=False, clip_after_nms=True)
        yield q("normalize", normalize=True)
        yield q("scales", box_size_scale=5.0, box_coordinate_scale=10.0)
        yield q("pre-nms", pre_nms_topn=8, nms_thresh=.9)
        yield q("too-few", post_nms_topn=15, nms_thresh=.1)


proposal(1)
proposal(4)


@operation("RegionYolo-1")
def region_yolo():
    def r(name, channels, softmax, num, mask, batch=1, et="f32", coords=4, classes=2, axis=1, end=3):
        attrs = {"axis": axis, "coords": coords, "classes": classes, "end_axis": end, "num": num, "do_softmax": softmax,
                 "mask": mask, "anchors": f32s(1, 2)}
        x = np.sin(np.arange(batch * channels * 4)).reshape(batch, channels, 2, 2) * 4
        return Case(name, "RegionYolo", "opset1", [p(et, x)], attrs)
    for et in ("f32", "f16", "bf16"):
        yield r(f"{et}-mask", 14, False, 3, [0, 1], et=et)
        yield r(f"{et}-softmax", 14, True, 2, [0], et=et)
    yield r("mask-batch", 14, False, 2, [0, 1], 2)
    yield r("softmax-batch", 14, True, 2, [0], 2)
    yield r("softmax-two-axes", 7, True, 1, [0], 2, axis=2)
    yield r("coords-2", 10, True, 2, [0], coords=2)


@operation("ReorgYolo-2")
def reorg_yolo():
    for shape, stride in (((1, 4, 4, 4), 2), ((2, 8, 2, 6), 2), ((1, 9, 3, 3), 3), ((1, 3, 2, 2), 1)):
        x = np.arange(np.prod(shape)).reshape(shape) / 4
        yield Case("x".join(map(str, shape)), "ReorgYolo", "opset2", [p("f32", x)], {"stride": [stride]})


@operation("ExperimentalDetectronDetectionOutput-6")
def detectron_detection_output():
    rng = np.random.default_rng(3)

    def d(name, rois=6, classes=3, **attrs):
        attrs = {"score_threshold": .05, "nms_threshold": .5, "max_delta_log_wh": 2.0, "num_classes": classes, "post_nms_count": 10,
                 "max_detections_per_image": rois, "class_agnostic_box_regression": False, "deltas_weights": f32s(10, 10, 5, 5), **attrs}
        deltas = (rng.random((rois, classes * 4)) - .5) * 4
        s = rng.permutation(rois * classes).reshape(rois, classes) / (rois * classes)
        return Case(name, "ExperimentalDetectronDetectionOutput", "opset6",
                    [p("f32", BOXES[:rois]), p("f32", deltas), p("f32", s), p("f32", [[20, 20, 1]])], attrs)
    yield d("inside")
    yield d("post-nms", post_nms_count=1)
    yield d("agnostic", class_agnostic_box_regression=True)
    yield d("growth", max_delta_log_wh=.1)
    yield d("overlaps", nms_threshold=.2)


@operation("ExperimentalDetectronGenerateProposalsSingleImage-6")
def detectron_proposals():
    rng = np.random.default_rng(5)

    def g(name, **attrs):
        attrs = {"min_size": 0.0, "nms_threshold": .7, "post_nms_count": 6, "pre_nms_count": 10, **attrs}
        deltas, s = (rng.random((12, 2, 2)) - .5) * .5, rng.permutation(12).reshape(3, 2, 2) / 12 + .01
        return Case(name, "ExperimentalDetectronGenerateProposalsSingleImage", "opset6",
                    [p("f32", [12, 12, 1]), p("f32", BOXES * 2), p("f32", deltas), p("f32", s)], attrs)
    yield g("all")
    yield g("pre-nms", pre_nms_count=4)
    yield g("post-nms", post_nms_count=2)
    yield g("too-few", post_nms_count=14, nms_threshold=.3)
    yield g("min-size", min_size=2.5, post_nms_count=3)


@operation("GenerateProposals-9")
def generate_proposals():
    rng = np.random.default_rng(6)

    def g(name, batch=1, info=(12, 12, 1), **attrs):
        attrs = {"min_size": 1.0, "nms_threshold": .7, "post_nms_count": 6, "pre_nms_count": 10, **attrs}
        deltas, s = (rng.random((batch, 12, 2, 2)) - .5) * .5, rng.permutation(batch * 12).reshape(batch, 3, 2, 2) / 12 / batch
        return Case(name, "GenerateProposals", "opset9",
                    [p("f32", [info] * batch), p("f32", np.array(BOXES * 2).reshape(2, 2, 3, 4)), p("f32", deltas), p("f32", s)], attrs)
    yield g("one")
    yield g("batch", 2)
    yield g("pixels", normalized=False)
    yield g("four-numbers", 2, (12, 12, 1, 2), min_size=2.0)
    yield g("i32", 2, post_nms_count=3, roi_num_type="i32")
    yield g("pre-nms", pre_nms_count=3)
    yield g("min-size", min_size=3.0)


@operation("ExperimentalDetectronPriorGridGenerator-6")
def prior_grid():
    def g(name, et="f32", image=(12, 16), **attrs):
        args = [p(et, BOXES[:2]), p(et, np.zeros((1, 2, 2, 3))), p(et, np.zeros((1, 3, *image)))]
        return Case(name, "ExperimentalDetectronPriorGridGenerator", "opset6", args,
                    {"flatten": True, "h": 0, "w": 0, "stride_x": 0.0, "stride_y": 0.0, **attrs})
    for et in ("f32", "f16", "bf16"):
        yield g(et, et)
    yield g("strides", stride_x=4.0, stride_y=2.0)
    yield g("not-flat", flatten=False)
    yield g("one-stride", stride_x=4.0)


@operation("ExperimentalDetectronROIFeatureExtractor-6")
def roi_features():
    maps = [np.sin(np.arange(2 * s * s)).reshape(1, 2, s, s) for s in (8, 4, 2)]

    def r(name, rois, levels=2, **attrs):
        attrs = {"output_size": 2, "sampling_ratio": 2, "pyramid_scales": [16, 32, 64][:levels], "aligned": False, **attrs}
        return Case(name, "ExperimentalDetectronROIFeatureExtractor", "opset6",
                    [p("f32", rois)] + [p("f32", m) for m in maps[:levels]], attrs)
    rois = [[8, 8, 120, 40], [0, 0, 128, 128], [5, 9, 30, 20], [30, 30, 30, 90], [-20, 0, 100, 127]]
    yield r("two-levels", rois)
    yield r("three-levels", rois + [[-100, -100, 300, 300]], 3)
    yield r("aligned", rois, aligned=True)
    yield r("adaptive", rois, sampling_ratio=0, output_size=3)
    yield r("one-level", rois, 1)
