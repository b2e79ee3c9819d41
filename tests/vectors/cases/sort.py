"""TopK, SearchSorted, Unique."""

import numpy as np

from .common import COMPUTED, Case, INF, MOVED, P, c, operation, p


def top_k(version):
    @operation(f"TopK-{version}")
    def cases():
        def t(name, x, k, axis=-1, mode="max", sort="value", it=None, et="f32", kt="i64", stable=None):
            attrs = {"axis": axis, "mode": mode, "sort": sort}
            if it is not None:
                attrs["index_element_type"] = it
            if stable is not None:
                attrs["stable"] = stable
            return Case(name, "TopK", f"opset{version}", [p(et, x), c(kt, k)], attrs)
        # No two of a line are equal: without `stable` their order would be open.
        x = [[3, 9, 1, 7, 5], [2, 4, 8, 6, 0]]
        deep = (np.arange(24) * 7 % 25).reshape(2, 3, 4)
        for et in (["f32"] + COMPUTED if version == 3 else ["f32", "i32", "f16"]):
            yield t(f"{et}-max", x, 3, et=et)
        for mode in ("max", "min"):
            for sort in ("value", "index"):
                for it in ("i32", "i64") if version > 1 and sort == "value" else ["i32"]:
                    yield t(f"{mode}-{sort}-{it}", x, 3, mode=mode, sort=sort, it=it)
        yield t("one-of-each", x, 1)
        yield t("one-along-axis0", x, 1, 0, "min")
        yield t("all-of-each", x, 5)
        yield t("all-by-index", x, 5, sort="index")
        yield t("axis1-of-3", deep, 2, 1)
        yield t("axis0-of-3-min-index", deep, 1, 0, "min", "index")
        yield t("axis-minus3", deep, 2, -3, "min")
        yield t("k-i32", x, 2, kt="i32")
        yield t("rank6", deep.reshape(1, 2, 1, 3, 1, 4), 2, 3)
        yield t("inf", [1, -INF, INF, 0], 3)
        if version < 11:
            return
        same = [[5, 3, 1, 2, 5, 5], [4, 4, 4, 1, 1, 9]]
        for mode in ("max", "min"):
            for sort in ("value", "index"):
                yield t(f"stable-{mode}-{sort}", same, 4, mode=mode, sort=sort, stable=True)
        yield t("stable-axis0", np.array(same).T, 5, 0, stable=True, et="i32", it="i64")
        yield t("not-stable", x, 4, stable=False)


top_k(1)
top_k(3)
top_k(11)


@operation("SearchSorted-15")
def search_sorted():
    def s(name, line, values, right=None, et="f32", out=None, doubt=None):
        attrs = {k: v for k, v in (("right_mode", right), ("output_type", out)) if v is not None}
        return Case(name, "SearchSorted", "opset15", [p(et, line), p(et, values)], attrs, doubt=doubt)
    line, values = [1, 3, 5, 7, 9], [3, 6, 0, 9, 12]
    for et in ["f32"] + COMPUTED:
        yield s(et, line, values, et=et)
    for right in (False, True):
        tag = "right" if right else "left"
        yield s(f"{tag}-equal-elements", [1, 3, 3, 3, 5], [1, 3, 5, 4], right)
        yield s(f"{tag}-two-lines", [[1, 3, 5], [2, 4, 6]], [[3, 6], [4, 1]], right)
        yield s(f"{tag}-one-line-many-values", line, [[3, 6], [4, 1]], right)
        yield s(f"{tag}-infinities", [-INF, 0, INF], [-INF, INF, 1], right)
    yield s("output-i32", line, values, out="i32")
    yield s("output-i64", line, values, True, out="i64")
    yield s("one-element", [5], [4, 5, 6])
    yield s("no-values", line, np.zeros((0,)))
    yield s("no-line", np.zeros((0,)), [1, 2], doubt={"cpu": "leaves the output as it was"})
    yield s("rank4", np.arange(24).reshape(2, 1, 3, 4), np.arange(0, 24, 2).reshape(2, 1, 3, 2), True, "i32")


@operation("Unique-10")
def unique():
    def u(name, x, axis=None, order=None, et="f32", it=None, ct=None, at="i64"):
        attrs = {k: v for k, v in (("sorted", order), ("index_element_type", it), ("count_element_type", ct)) if v is not None}
        args = [P(et, x) if isinstance(x, np.ndarray) else p(et, x)] + ([] if axis is None else [c(at, axis)])
        return Case(name, "Unique", "opset10", args, attrs)
    x = [[5, 3, 5], [1, 3, 5]]
    rows = [[2, 1, 2], [1, 5, 0], [2, 1, 2], [1, 4, 9]]
    for et in MOVED[1:-1]:
        yield u(f"{et}-sorted", x, et=et)
    yield u("boolean-sorted", [1, 0, 1, 1], et="boolean")
    yield u("string-sorted", np.array(["b", "a", "b", ""]), et="string")
    yield u("unsorted", x, order=False)
    yield u("sorted-i32-counts", x, order=True, it="i32", ct="i32")
    yield u("unsorted-i32-index", x, order=False, it="i32")
    for order in (True, False):
        tag = "sorted" if order else "unsorted"
        yield u(f"rows-{tag}", rows, 0, order)
        yield u(f"columns-{tag}", rows, 1, order)
    yield u("axis-minus1-i32", rows, [-1], False, at="i32")
    yield u("axis1-of-3", np.array([1, 2, 1, 2, 3, 4, 5, 6, 5, 6, 7, 8]).reshape(2, 3, 2).tolist(), 1)
    yield u("axis-of-a-line", [3, 1, 3, 2], 0)
    yield u("all-equal", [[7, 7], [7, 7]])
    yield u("all-different", [4, 2, 3, 1])
    yield u("one-element", [[5]])
    yield u("scalar", 5)
    yield u("no-data", np.zeros((0,), np.float32))
