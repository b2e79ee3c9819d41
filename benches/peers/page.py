"""The page of benches/versus.py: tables from its raw figures, and a section kept by hand."""

import json
import math
import os
import re
import statistics

BEGIN, END = "<!-- by hand: begin -->", "<!-- by hand: end -->"
# Names begin with what they measure. The first that fits counts.
GROUPS = (
    ("small calls", ("tiny_", "gather_1row", "rsum_small")),
    ("gather", ("gather",)),
    ("scatter", ("seu_", "snd_")),
    ("reduce", ("rsum_",)),
    ("softmax", ("math_softmax",)),
    ("elementwise", ("math_",)),
    ("matmul", ("mm_", "mmdyn_")),
    ("compressed weights", ("mmw_",)),
    ("words", ("word_",)),
    ("convolution", ("conv_",)),
)
# Groups that no limit of memory or arithmetic says anything about.
UNLIMITED = ("small calls", "whole models")
PEERS = {"openvino": "OpenVINO", "onnxruntime": "onnxruntime"}
# Differences of outputs that sums in another order explain, and those of half precision.
CLOSE, CLOSE_HALF = 1e-3, 1e-2
# Ratios to the real runtime from which a model counts as slower.
SLOWER = 1.1
TEXT = ("slowest to OpenVINO", "notes")

INTRODUCTION = """\
# Performance

How long `ovir` needs beside OpenVINO's CPU plugin and onnxruntime, measured in turn on one machine with the same number of
threads, all in f32. A ratio is our median divided by theirs: **below 1 we are faster**. `benches/versus.py` measures and
writes this page; its beginning says how to run it. Absolute figures differ from machine to machine; ratios of one run
hold better.
"""

METHOD = """\
Each figure is the median of rounds, each the median of many evaluations of a request that is used again, with inputs that
are bound once; the engines' rounds take turns. The peers are driven through their Python packages, with bound memory: that
adds some 4 µs to a call of OpenVINO and 1 µs to one of onnxruntime, which matters to the small calls alone. A `~` marks
figures from rounds in which other programs were busy on the machine. Where the machine's speed changed too fast for that, the
engines took short turns, and a ratio is the median of those of neighbouring turns.
"""


def group(name):
    fits = (title for title, starts in GROUPS if name.startswith(starts))
    return next(fits, "whole models")


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def short(value):
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def table(titles, rows):
    """Lines of a table. The first column and those named in TEXT are text."""
    marks = ["---" if title in TEXT or not i else "---:" for i, title in enumerate(titles)]
    lines = [f"| {' | '.join(row)} |" for row in [titles, marks, *rows]]
    return lines + [""]


def ratio(record, peer):
    """Our time divided by theirs: the median of short turns, if there were such."""
    engines = record["engines"]
    if "ratio" in engines.get(peer, {}):
        return engines[peer]["ratio"]
    ours, theirs = (engines.get(name, {}).get("us") for name in ("ovir", peer))
    return ours / theirs if ours and theirs else None


class Figures:
    """Records of raw files; later ones replace earlier ones of the same case."""

    def __init__(self, paths):
        self.machine, self.warm, self.cold = {}, {}, {}
        for path in paths:
            with open(path) as file:
                for record in map(json.loads, file):
                    if record["kind"] == "machine":
                        # A later run may have probed other numbers of threads only.
                        probes = [*self.machine.get("probes", []), *record["probes"]]
                        latest = {probe["threads"]: probe for probe in probes}
                        self.machine = {**record, "probes": [latest[t] for t in sorted(latest)]}
                    else:
                        key = (record["case"], record["threads"])
                        {"warm": self.warm, "cold": self.cold}[record["kind"]][key] = record
        self.threads = sorted({threads for _, threads in self.warm})

    def in_group(self, title, threads):
        found = [r for (name, t), r in self.warm.items() if t == threads and group(name) == title]
        return sorted(found, key=lambda record: record["case"])

    def titles(self):
        present = {group(name) for name, _ in self.warm}
        return [title for title, _ in GROUPS if title in present]


def machine(figures):
    facts = figures.machine
    if not facts:
        return []
    probes = facts["probes"]
    turns = f"{facts['turns']} short turns" if facts.get("turns") else f"{facts['rounds']} rounds"
    rows = [
        ["processor", f"{facts['cpu']}, {facts['cpus']} CPUs"],
        ["vectors", f"{probes[0]['lanes']} numbers of f32"],
        ["memory", f"{facts['memory'] / 2**30:.1f} GiB"],
        ["system", facts["system"]],
        ["ovir", f"commit {facts['commit']}"],
        ["OpenVINO", facts["openvino"].partition("-releases")[0]],
        ["onnxruntime", f"{facts['onnxruntime']} (Python {facts['python']})"],
        ["date", f"{facts['date']}, {turns}"],
    ]
    lines = ["## Machine and versions", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in rows] + [""]
    threads = lambda probe: f"{probe['threads']} thread{'s' * (probe['threads'] > 1)}"
    peaks = [f"{probe['gflops']:.0f} GFLOP/s on {threads(probe)}" for probe in probes]
    lines += [
        "What the machine can do at most, as `examples/probe.rs` finds it: multiply and add in f32 at "
        f"{' and '.join(peaks)};\nmove GB/s, by the bytes that each thread goes through again and again "
        "(a copy reads and writes, both count):",
        "",
    ]
    titles = ["bytes", *(f"{how}, {threads(p)}" for p in probes for how in ("copy", "read"))]
    rows = []
    for same in zip(*(probe["bandwidth"] for probe in probes)):
        figures = [short(each[f"{how}_gbs"]) for each in same for how in ("copy", "read")]
        rows.append([f"{same[0]['bytes'] >> 10:,} KiB", *figures])
    return lines + table(titles, rows)


def overview(figures):
    lines = ["## Ratios", "", "Geometric means of all models of a group.", ""]
    titles = ["group"]
    for threads in figures.threads:
        for peer in PEERS.values():
            titles.append(f"to {peer}, {threads} thread{'s' * (threads > 1)}")
        titles.append("slowest to OpenVINO")
    rows = []
    for title in [*figures.titles(), "whole models"]:
        row = [title]
        for threads in figures.threads:
            records = figures.in_group(title, threads)
            for peer in PEERS:
                ratios = [x for x in (ratio(r, peer) for r in records) if x]
                row.append(f"{mean(ratios):.2f} ({len(ratios)})" if ratios else "–")
            found = [(ratio(r, "openvino") or 0, r["case"]) for r in records]
            worst = max(found, default=(0, ""))
            row.append(f"{worst[0]:.2f} {worst[1]}" if worst[0] else "–")
        if any(cell != "–" for cell in row[1:]):
            rows.append(row)
    return lines + table(titles, rows) + [METHOD]


def losses(figures):
    found = {}
    for (name, threads), record in figures.warm.items():
        own = ratio(record, "openvino")
        if own and own > SLOWER:
            found.setdefault(name, {})[threads] = own
    if not found:
        return [f"On no model is our ratio to the real runtime above {SLOWER}.", ""]
    lines = [f"Models whose ratio to the real runtime is above {SLOWER}:", ""]
    ordered = sorted(found.items(), key=lambda item: -max(item[1].values()))
    rows = [
        [name, *(f"{ratios[t]:.2f}" if t in ratios else "–" for t in figures.threads)]
        for name, ratios in ordered
    ]
    titles = [f"{t} thread{'s' * (t > 1)}" for t in figures.threads]
    return lines + table(["model", *titles], rows)


def notes(record):
    found = []
    close = CLOSE_HALF if "f16" in record["case"] else CLOSE
    for peer, title in PEERS.items():
        result = record["engines"].get(peer, {})
        apart = result.get("difference", 0)
        if isinstance(apart, str):
            found.append(f"{title} gives {apart}")
        elif apart > close:
            found.append(f"{title}'s result differs by {apart:.0e} of the largest element")
        if "error" in result:
            found.append(f"{title} fails")
    if "error" in record["engines"].get("ovir", {}):
        found.append("ovir fails")
    return "; ".join(found)


def share(record):
    """How fast the data moves or numbers are multiplied, and what of the machine's limit that is in
    the median and at best."""
    ours, limit = (record["engines"].get(name, {}) for name in ("ovir", "limit"))
    if "us" not in ours or "us" not in limit:
        return ["–"] * 3
    work, unit = (record["flops"], "GFLOP/s") if "flops" in record else (record["bytes"], "GB/s")
    ratios = (ratio(record, "limit"), ours["least_us"] / limit["least_us"])
    shares = [work / limit["work"] / each for each in ratios]
    return [f"{short(work / ours['us'] / 1e3)} {unit}", *(f"{share:.0%}" for share in shares)]


def one_operation(figures):
    lines = ["## Models of one operation", ""]
    lines += [
        "Microseconds an evaluation. The last columns are our own speed: bytes that must at least be read and written, or\n"
        "multiplications and additions, and the share of what the machine does at most in a plain loop: reads of as many bytes for\n"
        "reductions and words, copies for functions, as many rows picked from random places, or put there in a copy of the\n"
        "table, for gathers and scatters, multiplications and additions in registers for the rest. That is measured on as many\n"
        "threads, in rounds that take turns with the engines'. The last share is that of the fastest evaluation in the fastest\n"
        "repetition: what is left where nobody else uses the machine's caches.",
        "",
    ]
    for title in figures.titles():
        lines += [f"### {title[0].upper()}{title[1:]}", ""]
        rows = []
        for threads in figures.threads:
            for record in figures.in_group(title, threads):
                rows.append(times(record, 1) + share(record) + [notes(record)])
        names = ["model", "threads", *headings(), "speed", "of peak", "at best", "notes"]
        lines += table(names, sorted(rows, key=lambda row: (row[0], int(row[1]))))
    return lines


def headings():
    return ["ovir", *(x for title in PEERS.values() for x in (title, "ratio"))]


def times(record, divisor):
    def time(engine):
        result = record["engines"].get(engine, {})
        if "us" not in result:
            return "fails" if "error" in result else "–"
        return ("" if result["calm"] else "~") + short(result["us"] / divisor)

    row = [record["case"], str(record["threads"]), time("ovir")]
    for peer in PEERS:
        own = ratio(record, peer)
        row += [time(peer), f"**{own:.2f}**" if own else "–"]
    return row


def whole(figures):
    records = [r for t in figures.threads for r in figures.in_group("whole models", t)]
    if not records:
        return []
    lines = ["## Whole models", "", "Milliseconds an evaluation; weights are random.", ""]
    rows = [times(record, 1e3) + [notes(record)] for record in records]
    names = ["model", "threads", *headings(), "notes"]
    return lines + table(names, sorted(rows, key=lambda row: (row[0], int(row[1]))))


def first_results(figures):
    if not figures.cold:
        return []
    lines = ["## First result and memory", ""]
    lines += [
        "Milliseconds from the file to the first result, in a new process (reading + compiling + first evaluation; onnxruntime\n"
        "reads while it compiles; the peers' libraries are loaded already), and the most memory in MB. What Python and the\n"
        "peers' libraries hold before they read the model is taken off their memory; nothing is taken off ours. Weights that\n"
        "are mapped from the file count where they are touched.",
        "",
    ]
    names = ["model", "threads"]
    for title in ("ovir", *PEERS.values()):
        names += [f"{title}, ms", "MB"]
    rows = []
    for record in figures.cold.values():
        row = [record["case"], str(record["threads"])]
        for engine in ("ovir", *PEERS):
            result = record["engines"].get(engine)
            if not result or "error" in result:
                row += ["fails" if result else "–", "–"]
                continue
            parts = [result[f"{name}_ns"] / 1e6 for name in ("load", "compile", "first")]
            memory = (result["hwm_kb"] - result.get("base_kb", 0)) * 1024 / 1e6
            row += [f"{short(sum(parts))} ({' + '.join(map(short, parts))})", short(memory)]
        rows.append(row)
    return lines + table(names, sorted(rows, key=lambda row: (row[0], int(row[1]))))


def by_hand(path):
    """What was written between the markers of the page that is there."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            found = re.search(f"{BEGIN}\n(.*?){END}", file.read(), re.DOTALL)
        if found:
            return found[1]
    return ""


def write(raw, path):
    figures = Figures(raw)
    lines = [INTRODUCTION, *machine(figures), *overview(figures)]
    lines += ["## Where we lose, and why", "", *losses(figures)]
    lines += [f"{BEGIN}\n{by_hand(path)}{END}", ""]
    lines += [*whole(figures), *one_operation(figures), *first_results(figures)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")
