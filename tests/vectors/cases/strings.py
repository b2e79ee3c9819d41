"""StringTensorPack, StringTensorUnpack."""

import numpy as np

from .common import Case, P, operation


@operation("StringTensorPack-15")
def pack():
    def s(name, begins, ends, symbols, et="i32"):
        symbols = np.frombuffer(symbols.encode(), np.uint8)
        sides = [P(et, np.array(side, np.int32 if et == "i32" else np.int64)) for side in (begins, ends)]
        return Case(name, "StringTensorPack", "opset15", sides + [P("u8", symbols)])
    for et in ("i32", "i64"):
        yield s(f"{et}-line", [0, 5], [5, 13], "IntelOpenVINO", et)
    yield s("empty-strings", [0, 3, 3, 8, 9], [3, 3, 8, 9, 13], "OMZGenAI 2024")
    yield s("skipped-symbols", [0, 8], [1, 9], "123456789")
    yield s("overlaps", [0, 2, 1], [4, 3, 5], "abcde")
    yield s("matrix", [[0, 5], [13, 16]], [[5, 13], [16, 21]], "IntelOpenVINOOMZGenAI")
    yield s("letters-of-many-bytes", [0, 2, 5], [2, 5, 9], "é漢👍")
    yield s("scalar", 1, 3, "abcd")
    yield s("no-strings", np.zeros((0, 2)), np.zeros((0, 2)), "abc")
    yield s("no-symbols", [0, 0], [0, 0], "")


@operation("StringTensorUnpack-15")
def unpack():
    def s(name, strings):
        return Case(name, "StringTensorUnpack", "opset15", [P("string", np.array(strings, np.str_))])
    yield s("line", ["Intel", "OpenVINO"])
    yield s("empty-strings", ["OMZ", "", "GenAI", " ", "2024", ""])
    yield s("matrix", [["Intel", "OpenVINO"], ["OMZ", "GenAI"]])
    yield s("letters-of-many-bytes", ["é漢", "👍", "a"])
    yield s("scalar", "abc")
    yield s("rank4", np.array(["a", "", "bc", "d"]).reshape(1, 2, 1, 2))
    yield s("all-empty", ["", ""])
