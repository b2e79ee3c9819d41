#!/usr/bin/env python3
"""Measures ovir, OpenVINO's CPU plugin and onnxruntime in turn on this machine, and writes what it
found to a page (docs/performance.md).

    cargo build --release --example worker --example probe
    python -m venv target/peers
    target/peers/bin/pip install numpy onnx onnxruntime openvino
    target/peers/bin/python benches/versus.py                    # models of one operation
    target/peers/bin/python benches/versus.py --nets             # whole models too; these need
                                                                 # torch torchvision transformers
    target/peers/bin/python benches/versus.py --only gather mm_ --rounds 3
    target/peers/bin/python benches/versus.py --turns 100        # a machine that others use
    target/peers/bin/python benches/versus.py --render target/versus/raw.jsonl   # the page alone

Models are made in target/versus once. All engines evaluate in f32 on the same number of threads.
A round is some evaluations of one engine, then of the next, and last what the machine can do at most
with as many bytes or multiplications; the figure of each is the median of its rounds' medians. Where the
speed of the machine changes within seconds, `--turns` has the engines take short turns, and keeps
the median of the ratios of neighbouring turns: these agree within a few per cent from run to run
where medians of rounds are apart by half. Raw figures are appended to a file of JSON lines: where a
case was measured twice, its last figures are shown."""

import argparse
import datetime
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(HERE, "peers"))
import page  # noqa: E402

ENGINES = ("ovir", "openvino", "onnxruntime")
# What takes turns with the engines to show what the machine can do at that time.
LIMIT = "limit"
# Microseconds in which an engine is brought to speed before a round that counts.
WARM_UP_US = 15_000
# How long a turn is, if these are short.
TURN_MS = 2
# CPUs that others may use during a round that counts, if there are rounds without.
MOST_BUSY = 0.3


def missing(*modules):
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    if absent:
        pip = f"{sys.executable} -m pip install {' '.join(absent)}"
        sys.exit(f"missing Python packages: {', '.join(absent)}\ninstall them with: {pip}")


def work(case):
    """What is done at least, if its description tells: bytes that are moved or operations."""
    meta = os.path.join(case, "meta.json")
    if not os.path.exists(meta):
        return {}
    with open(meta) as file:
        meta = json.load(file)
    # An older form keeps operations where bytes are.
    flops = "holds flops" in meta.get("note", "")
    names = [name for name in ("bytes", "flops", "rows") if name in meta]
    return {"flops" if flops and name == "bytes" else name: meta[name] for name in names}


def limit(case, threads, options):
    """The command that does as much as the machine can of what a case does, if anything limits it."""
    least = work(case)
    if least.get("flops"):
        return [options.probe, "--threads", str(threads), "--serve", "multiply"]
    title = page.group(os.path.basename(case))
    if not least.get("bytes") or title in page.UNLIMITED:
        return None
    if rows := least.get("rows"):
        words = [options.probe, "--threads", str(threads), "--serve", rows["how"]]
        for name in ("rows", "bytes", "table", "tables", "index"):
            words += [f"--{name}", str(rows[name])]
        return words
    # The same bytes in as many threads; a reduction only reads, and so does who multiplies one row by all weights.
    how, times = ("read", 1) if title in ("reduce", "words") else ("copy", 2)
    each = str(max(least["bytes"] // threads // times, 64))
    return [options.probe, "--threads", str(threads), "--serve", how, "--bytes", each]


def command(engine, options):
    if engine == "ovir":
        return [options.worker]
    return [sys.executable, os.path.join(HERE, "peers", "worker.py"), engine]


def model_of(engine, case):
    return os.path.join(case, "model.onnx" if engine == "onnxruntime" else "model.xml")


def pairs(words):
    return {name: int(value) for name, value in zip(words[::2], words[1::2])}


class Busy:
    """CPU time of the machine less that of a process, where the system tells."""

    tick = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 1

    def __init__(self, pid):
        self.pid, self.start = pid, time.time()
        self.before = self.now()

    def now(self):
        try:
            with open("/proc/stat") as file:
                fields = [int(word) for word in file.readline().split()[1:9]]
            with open(f"/proc/{self.pid}/stat") as file:
                own = file.read().rpartition(")")[2].split()
            # All but the time that is idle or waits for disks.
            return (sum(fields) - fields[3] - fields[4] - int(own[11]) - int(own[12])) / self.tick
        except OSError:
            return 0.0

    def others(self):
        return round(max(0.0, self.now() - self.before) / max(time.time() - self.start, 1e-3), 3)


class Worker:
    """One engine with one model, in a process of its own, or what limits all."""

    def __init__(self, engine, command, options):
        self.engine, self.realtime = engine, options.realtime
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        _, self.work = self.answer("ready")

    def answer(self, *words):
        for line in self.process.stdout:
            word, *rest = line.split() or [""]
            if word in words:
                return word, rest
        said = self.process.stderr.read().strip().splitlines()
        raise RuntimeError(said[-1][:300] if said else "ended without a word")

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def run(self, count):
        """The median and the least of as many evaluations, and CPUs that others used meanwhile."""
        busy = Busy(self.process.pid)
        self.ask(f"run {count}")
        times = [int(word) / 1e3 for word in self.answer("t")[1]]
        return statistics.median(times), min(times), busy.others()

    def prioritize(self, yes):
        if not self.realtime:
            return
        policy, priority = (os.SCHED_FIFO, 20) if yes else (os.SCHED_OTHER, 0)
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                os.sched_setscheduler(int(thread), policy, os.sched_param(priority))
            except ProcessLookupError:
                pass

    def calibrate(self, milliseconds):
        self.run(3)
        each, *_ = self.run(3)
        self.count = int(min(max(milliseconds * 1e3 / max(each, 1), 2), 3000))
        self.warm_up = int(min(max(WARM_UP_US / max(each, 1), 1), 300))

    def round(self):
        self.prioritize(True)
        self.run(self.warm_up)
        result = self.run(self.count)
        self.prioritize(False)
        return result

    def outputs(self, folder):
        """The elements of each output."""
        import numpy
        import protocol

        self.ask(f"dump {folder}")
        found = []
        while True:
            word, rest = self.answer("o", ".")
            if word == ".":
                return found
            _, type_name, _, file = rest
            found.append(numpy.fromfile(file, protocol.TYPES[type_name]))

    def close(self):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


def difference(ours, theirs):
    """The largest difference over the largest element; a sentence when they cannot be compared."""
    import numpy

    if len(ours) != len(theirs):
        return f"{len(ours)} and {len(theirs)} outputs"
    worst = 0.0
    for a, b in zip(ours, theirs):
        if a.size != b.size:
            return f"{a.size} and {b.size} elements"
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        if not numpy.array_equal(numpy.isfinite(a[~same]), numpy.isfinite(b[~same])):
            return "other infinities or NaNs"
        finite = numpy.abs(b[numpy.isfinite(b)])
        if not same.all():
            apart = numpy.abs(a[~same] - b[~same]).max()
            worst = max(worst, float(apart / max(finite.max(), 1e-30)))
    return worst


def in_turn(workers, count):
    """All of them as often, each time beginning with another one."""
    for turn in range(count):
        first = turn % max(len(workers), 1)
        yield from workers[first:] + workers[:first]


def by_rounds(workers, results, options):
    """Rounds, each after a while of warming up."""
    for worker in in_turn(workers, options.rounds):
        time.sleep(0.01)
        results[worker.engine]["rounds"].append(worker.round())


def by_turns(workers, results, options):
    """Short turns, and the medians of our time divided by that of the others in the same turn."""
    for worker in workers:
        worker.run(worker.warm_up)
    for worker in in_turn(workers, options.turns):
        # During its turn alone: threads of others may still be awake, and wait for work.
        worker.prioritize(True)
        # Its caches were those of the others.
        worker.run(1)
        results[worker.engine]["rounds"].append(worker.run(worker.count))
        worker.prioritize(False)
    ours = results.get("ovir", {}).get("rounds")
    for result in results.values():
        if ours and "rounds" in result:
            both = zip(ours, result["rounds"])
            result["ratio"] = statistics.median(a / b for (a, *_), (b, *_) in both)


def warm(case, threads, options):
    """Evaluations again and again, all engines in turn."""
    workers, results, found = [], {}, {}
    try:
        for engine in options.engines:
            if not os.path.exists(model_of(engine, case)):
                continue
            try:
                arguments = ["--model", model_of(engine, case), "--threads", str(threads)]
                arguments += ["--inputs", os.path.join(case, "inputs.txt")]
                worker = Worker(engine, command(engine, options) + arguments, options)
                workers.append(worker)
                found[engine] = worker.outputs(os.path.join(options.folder, "outputs", engine))
                worker.calibrate(options.milliseconds)
                results[engine] = {"rounds": []}
            except (RuntimeError, BrokenPipeError) as error:
                results[engine] = {"error": str(error)}
        if serves := limit(case, threads, options):
            worker = Worker(LIMIT, serves, options)
            workers.append(worker)
            worker.calibrate(options.milliseconds)
            results[LIMIT] = {"rounds": [], "work": float(worker.work[0])}
        alive = [worker for worker in workers if "rounds" in results[worker.engine]]
        take = by_turns if options.turns else by_rounds
        take(alive, results, options)
    finally:
        for worker in workers:
            worker.close()
    for engine, result in results.items():
        if "rounds" in result:
            calm = [each for each, _, others in result["rounds"] if others < MOST_BUSY]
            # Nobody can tell who used the machine during a short turn.
            enough = len(calm) >= min(3, options.rounds)
            result["calm"] = enough or options.turns > 0
            times = calm if enough and not options.turns else [x for x, *_ in result["rounds"]]
            result["us"] = statistics.median(times)
            result["least_us"] = min(least for _, least, _ in result["rounds"])
            if engine in found and engine != "ovir" and "ovir" in found:
                result["difference"] = difference(found["ovir"], found[engine])
    return results


def cold(case, threads, options):
    """From the file to the first result, each time in a new process."""
    results = {}
    for turn in range(options.cold_rounds):
        for engine in options.engines:
            if not os.path.exists(model_of(engine, case)):
                continue
            arguments = ["--model", model_of(engine, case), "--threads", str(threads)]
            arguments += ["--inputs", os.path.join(case, "inputs.txt"), "--cold"]
            arguments = command(engine, options) + arguments
            done = subprocess.run(arguments, capture_output=True, text=True)
            line = next((x for x in done.stdout.splitlines() if x.startswith("cold ")), None)
            if line is None:
                results[engine] = {"error": (done.stderr.strip().splitlines() or ["?"])[-1][:300]}
                continue
            results.setdefault(engine, {"runs": []})["runs"].append(pairs(line.split()[1:]))
    for result in results.values():
        runs = result.pop("runs", [])
        for name in runs[0] if runs else []:
            result[name] = statistics.median(run[name] for run in runs)
    return results


def say(options, case, threads, kind, engines):
    """Keeps a record, and shows it in short."""
    record = {"kind": kind, "case": os.path.basename(case), "threads": threads, **work(case)}
    record["engines"] = engines
    append(options, record)
    shown = []
    for engine, result in engines.items():
        if "error" in result:
            shown.append(f"{engine}: {result['error']}")
        elif engine == LIMIT:
            shown.append(f"at most {result['work'] / result['us'] / 1e3:.1f} G/s")
        elif kind == "warm":
            shown.append(f"{engine} {result['us']:.1f} µs")
        else:
            total = sum(result[name] for name in ("load_ns", "compile_ns", "first_ns"))
            shown.append(f"{engine} {total / 1e6:.1f} ms, {result['hwm_kb'] / 1e3:.0f} MB")
    print(f"{record['case']}, {threads} thread(s), {kind}: {'; '.join(shown)}", flush=True)


def append(options, record):
    with open(options.raw, "a") as file:
        file.write(json.dumps(record) + "\n")


def machine(options):
    """What is measured, and the limits of where."""
    import onnxruntime
    import openvino

    def git(*arguments):
        words = ["git", "-C", ROOT, *arguments]
        return subprocess.run(words, capture_output=True, text=True).stdout.strip()

    cpu, memory = platform.processor() or platform.machine(), 0
    try:
        with open("/proc/cpuinfo") as file:
            cpu = next((x.split(":")[1].strip() for x in file if x.startswith("model name")), cpu)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        pass
    probes = []
    for threads in options.threads:
        probe = [options.probe, "--threads", str(threads)]
        if options.realtime:
            probe = ["chrt", "-f", "20", *probe]
        done = subprocess.run(probe, capture_output=True, text=True, check=True)
        probes.append(json.loads(done.stdout))
    return {
        "kind": "machine",
        "date": datetime.date.today().isoformat(),
        "cpu": cpu,
        "cpus": os.cpu_count(),
        "memory": memory,
        "system": f"{platform.system()} {platform.release()}",
        "commit": git("rev-parse", "--short", "HEAD") + ("+" if git("status", "-s", "-uno") else ""),
        "openvino": openvino.__version__,
        "onnxruntime": onnxruntime.__version__,
        "python": platform.python_version(),
        "rounds": options.rounds,
        "turns": options.turns,
        "probes": probes,
    }


def make(script, options):
    folder = os.path.join(options.folder, script)
    arguments = [sys.executable, os.path.join(HERE, "peers", f"{script}.py"), folder]
    subprocess.run(arguments + options.only, check=True)
    return folder


def cases(options):
    folders = options.cases
    if not folders:
        folders = [make("cases", options)]
    if options.nets:
        missing("torch", "torchvision", "transformers")
        folders.append(make("nets", options))
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            case = os.path.join(folder, name)
            wanted = not options.only or any(part in name for part in options.only)
            if wanted and os.path.exists(os.path.join(case, "inputs.txt")):
                yield case


def count(text):
    """How many times, from the command line."""
    if (number := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than zero")
    return number


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    examples = os.path.join(target, "release", "examples")
    add = parser.add_argument
    add("--cases", nargs="+", default=[], metavar="DIR", help="folders of cases that exist")
    add("--nets", action="store_true", help="make and measure whole models too")
    add("--only", nargs="+", default=[], metavar="PART", help="cases whose names have a part")
    add("--engines", default=",".join(ENGINES), help="which, with commas between")
    add("--threads", default="1,2", help="numbers of threads, with commas between")
    add("--rounds", type=count, default=7, help="rounds of a case; 0: none")
    add("--milliseconds", type=float, default=150, help="how long a round is")
    add("--turns", type=count, default=0, help=f"short turns of {TURN_MS} ms instead of rounds")
    add("--cold-rounds", type=count, default=3, help="new processes a model; 0: none")
    add("--cold-only", default="", metavar="PARTS", help="cases of which new processes are timed")
    add("--realtime", action="store_true", help="real-time priority in rounds (needs the right)")
    add("--raw", metavar="FILE", help="raw figures [target/versus/raw.jsonl]")
    add("--output", default=os.path.join(ROOT, "docs", "performance.md"), metavar="FILE")
    add("--render", nargs="+", metavar="RAW", help="write the page from raw figures alone")
    add("--worker", default=os.path.join(examples, "worker"), help="the example's binary")
    add("--probe", default=os.path.join(examples, "probe"), help="the example's binary")
    options = parser.parse_args()
    options.engines = options.engines.split(",")
    if options.turns:
        options.milliseconds = TURN_MS
    options.threads = [int(word) for word in options.threads.split(",")]
    options.folder = os.path.join(target, "versus")
    options.raw = options.raw or os.path.join(options.folder, "raw.jsonl")
    return options


def main():
    options = arguments()
    if not options.render:
        missing("numpy", "onnx", "onnxruntime", "openvino")
        for binary in (options.worker, options.probe):
            if not os.path.exists(binary):
                build = "cargo build --release --example worker --example probe"
                sys.exit(f"there is no {binary}\nbuild it with: {build}")
        for folder in (options.folder, os.path.dirname(os.path.abspath(options.raw))):
            os.makedirs(folder, exist_ok=True)
        append(options, machine(options))
        parts = [part for part in options.cold_only.split(",") if part]
        for case in cases(options):
            name = os.path.basename(case)
            for threads in options.threads:
                if options.rounds or options.turns:
                    say(options, case, threads, "warm", warm(case, threads, options))
                # A process of its own for each result is worth it for whole models only.
                whole = any(part in name for part in parts) or page.group(name) == "whole models"
                if whole and options.cold_rounds:
                    say(options, case, threads, "cold", cold(case, threads, options))
    page.write(options.render or [options.raw], options.output)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
