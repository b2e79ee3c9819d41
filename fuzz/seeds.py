"""Fills corpus/ from the project's samples, and writes the dictionary ir.dict.

    python fuzz/seeds.py

It needs nothing but the standard library.
"""

import io
import json
import random
import re
import struct
import zipfile
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
PROJECT = FUZZ.parent
SEPARATOR = b"\n<!--weights-->\n"
LARGEST = 1 << 16
TYPES = """dynamic boolean bf16 f16 f32 f64 i4 i8 i16 i32 i64 u1 u2 u3 u4 u6 u8 u16 u32 u64 nf4 f4e2m1
f8e4m3 f8e5m2 f8e8m0 string complex64 complex128""".split()
PIECES = """<!--weights--> opset1 opset8 opset13 opset16 opset17 extension -1 ? .. 9223372036854775807
-9223372036854775808 18446744073709551615 4294967296 2147483648 1e400 nan inf <!DOCTYPE <![CDATA[ ]]>
&#x0; &lt; \\xff\\xfe \\x93NUMPY\\x01\\x00 PK\\x03\\x04 PK\\x05\\x06 ai.onnx 'fortran_order': 'shape':
data_offsets __metadata__ <dim> </port>""".split()
SHAPES = """? ... 1,2,3 ?,3 1..5,? ..4 2.. -1 [1,2] 1,2;?,2 {1,?} 0,18446744073709551615
9223372036854775807.. ?,?,?;1,2,3""".split()
LITERALS = ["[[1, 2], [3, 4]]", "f32[2,3]:random:seed=1,min=0,max=2", "i64[2]:zeros", "1+2j", "[]",
            '["a", "b"]', "f16:[nan, -inf, 1e-7]", "u4[3]:ones", "true", "[[[]]]", "boolean:[0, 1]"]


def add(target, name, data):
    if len(data) <= LARGEST:
        folder = FUZZ / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(name)).write_bytes(data)


def attribute(tag, name):
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return found[1] if found else ""


def layers(text):
    """The layers of a document as the target `attributes` takes them."""
    for tag, rest in re.findall(r"<layer ([^>]*)>(.*?)</layer>", text, re.S):
        name = attribute(tag, "type")
        if name in ("Parameter", "Result", "Const", ""):
            continue
        data = re.search(r"<data([^>]*?)/?>", rest)
        inputs = rest.split("</input>")[0] if "<input>" in rest else ""
        ports = []
        for port in inputs.split("<port ")[1:]:
            dims = ",".join(re.findall(r"<dim>([^<]*)", port))
            ports.append(f"{attribute(port.split('>')[0], 'precision') or 'f32'} {dims}")
        attributes = data[1].strip() if data else ""
        yield f"{name} {attribute(tag, 'version')}\n{'; '.join(ports)}\n{attributes}"


def documents():
    words = set()
    for number, path in enumerate(sorted((PROJECT / "ir-samples").rglob("*"))):
        if path.suffix == ".xml":
            document, weights = path.read_bytes(), path.with_suffix(".bin")
            add("document", number, document)
            tail = SEPARATOR + weights.read_bytes() if weights.exists() else b""
            add("evaluate", number, document + tail)
            text = document.decode(errors="replace")
            words.update(re.findall(r"<([A-Za-z_]+)", text))
            words.update(f'{name}="' for name in re.findall(r'([A-Za-z_-]+)="', text))
            for at, layer in enumerate(layers(text)):
                add("attributes", f"{number}-{at}", layer.encode())
        elif path.suffix == ".onnx":
            add("onnx", number, path.read_bytes())
        elif path.suffix in (".npy", ".npz", ".safetensors", ".json"):
            reader = {".npy": 0, ".npz": 1, ".safetensors": 2, ".json": 4}[path.suffix]
            add("tensors", number, bytes([reader, 0]) + path.read_bytes())
    # One case of each operation's vectors, and every third model of the ONNX project's node tests.
    for archive in sorted((PROJECT / "tests/vectors").glob("*.zip")):
        with zipfile.ZipFile(archive) as cases:
            names = [name for name in cases.namelist() if name.endswith("/model.xml")]
            for at, name in enumerate(names[:: max(1, len(names) // 4)]):
                document, weights = cases.read(name), name.replace(".xml", ".bin")
                tail = SEPARATOR + cases.read(weights) if weights in cases.namelist() else b""
                add("evaluate", f"{archive.stem}-{at}", document + tail)
                for layer in layers(document.decode()):
                    add("attributes", f"{archive.stem}-{at}", layer.encode())
            inputs = [name for name in cases.namelist() if name.endswith(".npz")][:1]
            for name in inputs:
                add("tensors", archive.stem, bytes([1, 0]) + cases.read(name))
    with zipfile.ZipFile(PROJECT / "tests/onnx/vectors.zip") as cases:
        for name in [name for name in cases.namelist() if name.endswith(".onnx")][::3]:
            add("onnx", name.replace("/", "-"), cases.read(name))
    return words


def npy(descr, shape, data, order="False"):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def tensors():
    arrays = [npy("<f4", (2, 3), bytes(24)), npy(">i8", (2,), bytes(16)), npy("|b1", (), b"\1"),
              npy("<U3", (2,), "abcdef".encode("utf-32-le")), npy("<f2", (2, 2), bytes(8), "True"),
              npy("|S4", (1,), b"abcd"), npy("<c8", (1,), bytes(8))]
    for number, array in enumerate(arrays):
        for reader in (0, 3):
            add("tensors", f"n{reader}-{number}", bytes([reader, number]) + array)
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            archive = io.BytesIO()
            with zipfile.ZipFile(archive, "w", method) as out:
                out.writestr("a.npy", array)
            add("tensors", f"z{method}-{number}", bytes([1, number]) + archive.getvalue())
    for number, (ty, size) in enumerate([("F32", 4), ("I64", 8), ("BOOL", 1), ("BF16", 2), ("U8", 1)]):
        header = json.dumps({"a": {"dtype": ty, "shape": [2], "data_offsets": [0, 2 * size]}}).encode()
        data = struct.pack("<Q", len(header)) + header + bytes(2 * size)
        add("tensors", f"s{number}", bytes([2, number]) + data)
    for number, text in enumerate(LITERALS):
        add("tensors", f"l{number}", bytes([5, 0]) + text.encode())
        add("tensors", f"j{number}", bytes([4, 0]) + json.dumps({"a": [1, 2.5], "b": text}).encode())


def texts():
    for number, text in enumerate(SHAPES):
        add("shapes", number, text.encode())
    add("strings", "two", b"\x42" + struct.pack("<4I", 2, 0, 3, 5) + b"abcde")
    add("strings", "none", b"\x40" + bytes(8))
    add("strings", "scalar", b"\0" + struct.pack("<3I", 1, 0, 1) + b"x")
    noise = random.Random(1)
    for number in range(400):
        add("graphs", number, noise.randbytes(128 + 2 * number))


def dictionary(words):
    operations = (PROJECT / "docs/operations.md").read_text()
    words |= set(re.findall(r"^\| `?([A-Za-z0-9]+)", operations, re.M))
    words |= set(TYPES) | {ty.upper() for ty in TYPES} | set(PIECES)
    quoted = (word.replace('"', '\\x22') for word in sorted(words))
    (FUZZ / "ir.dict").write_text("".join(f'"{word}"\n' for word in quoted))


if __name__ == "__main__":
    found = documents()
    tensors()
    texts()
    dictionary(found)
    for folder in sorted((FUZZ / "corpus").iterdir()):
        print(folder.name, len(list(folder.iterdir())))
