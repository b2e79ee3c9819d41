#!/usr/bin/env python3
"""Make the test vectors of `ovir`: one-operation models run by the OpenVINO runtime.

    python tests/vectors/generate.py [NAME-VERSION ...]

Needs openvino and numpy, nothing else.  Writes NAME-VERSION.zip beside this file for
each operation version named (all of them when none is), and prints what was left out.
The same runtime on the same kind of processor gives the same bytes again.

Two oracles are asked for every case: the reference implementation in the runtime's core
(`core`, Model.evaluate), which computes in the exact types, and the CPU plugin (`cpu`).
Core wins where it gives an answer that can be trusted; a case without any is left out and
printed in the table SKIPPED.  Both run in a child process, because some calls end the process.
"""

import io
import os
import pickle
import sys
import zipfile

import numpy as np

from cases import CASES
from cases.types import INTS, SUB_BYTE, values_of
from runtime import child, run

HERE = os.path.dirname(os.path.abspath(__file__))


def shorten(text):
    """The part of a message of the runtime that tells something, without its addresses and names."""
    for mark in ("Evaluation failed", "is not supported yet", "crashed with", "Unsupported operation"):
        if mark in text:
            said = text[text.index(mark):].split(":")[0].split(" on ")[0]
            return text.split(":")[0] + ": " + (said if mark != "is not supported yet" else "type not supported")
    if "Check '" in text:
        return text.split(":")[0] + ": refused, " + text[text.index("Check '") + 6:].split(" failed")[0][:110]
    return text.split(":")[0] + ": " + text.rsplit(": ", 1)[-1][:100]


def npz(arrays):
    buf = io.BytesIO()
    with zipfile.ZipFile(buf, "w", zipfile.ZIP_STORED) as z:
        for i, a in enumerate(arrays):
            b = io.BytesIO()
            np.lib.format.write_array(b, np.asarray(a, order="C"), allow_pickle=False)
            z.writestr(zipfile.ZipInfo(f"{i}.npy", (1980, 1, 1, 0, 0, 0)), b.getvalue())
    return buf.getvalue()


def same(et, a, b):
    if et == "string" or et in INTS or et == "boolean":
        return a == b
    x, y = values_of(et, a), values_of(et, b)
    return (x == y) | (np.isnan(x) & np.isnan(y))


def show(et, x):
    v = values_of(et, x)
    return repr(v.item()) if hasattr(v, "item") else repr(v)


def difference(case, core, cpu):
    """One line on how cpu differs from core, or ''."""
    for k, pair in enumerate(zip(core, cpu)):
        text = differs(case, *pair)
        if text:
            return f"output {k}: {text}" if len(core) > 1 else text
    return ""


def differs(case, core, cpu):
    (et, a), (et2, b) = core, cpu
    if et != et2 or a.shape != b.shape:
        return f"cpu differs: {et2} {list(b.shape)} where core has {et} {list(a.shape)}"
    if a.size == 0:
        return ""
    bad = ~same(et, a, b)
    if not bad.any():
        return ""
    where = np.argwhere(bad)
    parts = []
    ins = [x for x in case.args if not x.const]
    for w in where[:3]:
        w = tuple(w)
        src = ""
        if case.op == "Convert":
            src = show(ins[0].et, ins[0].stored[w]) + " -> "
        parts.append(f"{list(map(int, w))}: {src}core {show(et, a[w])} cpu {show(et, b[w])}")
    return f"cpu differs in {len(where)} of {a.size}: " + "; ".join(parts)


def distrust(case, oracle):
    """Why the oracle is not believed here, or ''.  It is not even asked: some of these calls damage memory."""
    for who in (oracle, "both"):
        if who in case.doubt:
            return case.doubt[who]
    et = case.args[0].et
    if oracle == "cpu" and case.op == "Convert" and case.attrs["destination_type"] in INTS and case.attrs["destination_type"] in SUB_BYTE:
        if et not in ("nf4", "f4e2m1"):
            return "can crash on packed destinations"
    if et in SUB_BYTE and case.op in ("Gather", "ScatterElementsUpdate", "Concat", "Broadcast", "Transpose"):
        # Core moves whole bytes of most packed types; the CPU plugin unpacks only these two.
        if oracle == "core" and not (case.op == "Transpose" and et in ("i4", "u4", "u2")) or oracle == "cpu" and et not in ("i4", "u4"):
            return "moves whole bytes of a packed type"
    if oracle == "cpu":
        # It computes 64-bit types and u32 in 32 bits.
        for a in case.args:
            if a.et in ("i64", "u64", "u32") and not a.const and a.stored.size and max(abs(int(x)) for x in a.stored.ravel()) >= 1 << 24:
                return "computes in 32 bits"
            if a.et == "f64":
                with np.errstate(all="ignore"):
                    if not same("f64", a.stored, a.stored.astype(np.float32).astype(np.float64)).all():
                        return "computes in 32 bits"
    return ""


def make(which, skipped):
    cases = list(CASES[which]())
    names = [c.name for c in cases]
    assert len(set(names)) == len(names), [n for n in names if names.count(n) > 1]
    got = run(which)
    path = os.path.join(HERE, which + ".zip")
    kept = differ = by_cpu = 0
    buf = io.BytesIO()
    with zipfile.ZipFile(buf, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for i, case in enumerate(cases):
            m, core, cpu = (got[i, s] for s in ("model", "core", "cpu"))
            if m[0] == "fail":
                skipped.append((which, case.name, ["model: " + m[1]]))
                continue
            got_by = {"core": core, "cpu": cpu}
            usable = [w for w in ("core", "cpu") if got_by[w][0] == "done"]
            if not usable:
                why = [f"{w}: " + (distrust(case, w) or got_by[w][1]) for w in got_by]
                if len({w.split(": ", 1)[1] for w in why}) == 1:
                    why = ["both: " + why[0].split(": ", 1)[1]]
                skipped.append((which, case.name, why))
                continue
            oracle = case.prefer if case.prefer in usable else usable[0]
            answer = got_by[oracle][1]
            by_cpu += oracle == "cpu"
            oracle += "\n"
            notes = [f"{w} is not believed: {distrust(case, w)}" for w in got_by if distrust(case, w)]
            if len(usable) == 2 and difference(case, core[1], cpu[1]):
                notes.append(difference(case, core[1], cpu[1]))
                differ += 1
            oracle += "".join(line + "\n" for line in notes)
            kept += 1
            xml, data = m[1]
            for name, content in (
                ("model.xml", xml), ("model.bin", data),
                ("inputs.npz", npz([a.stored for a in case.args if not a.const])),
                ("outputs.npz", npz([stored for _, stored in answer])), ("oracle.txt", oracle.encode()),
            ):
                info = zipfile.ZipInfo(f"{case.name}/{name}", (1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                z.writestr(info, content, compresslevel=9)
    with open(path, "wb") as f:
        f.write(buf.getvalue())
    print(f"{which}: {kept} of {len(cases)} cases, {by_cpu} by cpu alone, cpu differs in {differ}, {len(buf.getvalue())} bytes", flush=True)


def main():
    args = sys.argv[1:]
    if args[:1] == ["--child"]:
        child(args[1], pickle.load(sys.stdin.buffer), distrust)
        return
    unknown = [a for a in args if a not in CASES]
    if unknown:
        raise SystemExit(f"no such operation version here: {unknown}; there are {' '.join(CASES)}")
    skipped = []
    for which in args or CASES:
        make(which, skipped)
    print("\nSKIPPED (operation version, cases, why)")
    table = {}
    for op, case, why in skipped:
        table.setdefault((op, "; ".join(shorten(w) for w in why)), []).append(case)
    for (op, why), names in table.items():
        print(f"  {op}: {' '.join(names)}\n      {why}")


if __name__ == "__main__":
    main()
