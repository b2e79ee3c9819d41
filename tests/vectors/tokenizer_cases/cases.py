"""The cases, by operation."""

import numpy as np

from .common import TEXTS, Arg, Case, encoded, flags, ints, ragged, rows, strings, text, texts

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
          r"|\s*[\r\n]|\s+(?!\S)|\s")
BERT = (r"[!-/]|[:-@]|[\[-`]|[{-~]|[\p{P}]|[\x{4E00}-\x{9FFF}]|[\x{3400}-\x{4DBF}]|[\x{20000}-\x{2A6DF}]"
        r"|[\x{2A700}-\x{2B73F}]|[\x{2B740}-\x{2B81F}]|[\x{2B820}-\x{2CEAF}]|[\x{F900}-\x{FAFF}]|[\x{2F800}-\x{2FA1F}]")
SPECIAL = r"(\[UNK\]|\[SEP\]|\[MASK\]|\[CLS\]|<\|end\|>)"

CASES = {}

# Where there are many cases of an operation, these are the ones kept.
KEPT = {
    "RegexSplit": ["gpt2-isolate", "o200k-isolate", "cl100k-isolate", "bert-isolate", "word-remove-invert",
                   "metaspace-mergedwithnext", "hyphen-mergedwithprevious", "most-isolate", "skips", "old-skips"],
    "RegexNormalization": ["control", "han", "prefix", "strip-seen", "stars", "clean-up", "unset", "caseless", "skips"],
    "CharsMapNormalization": ["nfc", "nfd-fold", "nfkc", "nfkd", "all", "skips", "broken-text", "map", "map-skips"],
    "Truncate": ["left-2", "right-2", "right-0", "pair-left-longest_first-7", "pair-right-longest_first-7",
                 "pair-right-longest_first-4", "pair-right-only_first-4", "pair-left-only_second-4"],
}


def case(op, name, inputs, **attrs):
    CASES.setdefault(op, []).append(Case(name, op, inputs, attrs))


def kept(case):
    return case.name in KEPT.get(case.op, [case.name])


def splits():
    op = "RegexSplit"
    for name, pattern in [("gpt2", GPT2), ("llama3", LLAMA3), ("o200k", O200K), ("cl100k", CL100K), ("bert", BERT)]:
        case(op, f"{name}-isolate", texts(TEXTS) + [text(pattern)], behaviour="isolate")
    for name, pattern in [("space", r"\s+"), ("word", r"\w+|[^\w\s]+"), ("digits", r"\p{Nd}|\p{Nl}|\p{No}"),
                          ("punctuation", r"\p{P}"), ("han", r"\p{Han}"), ("boundary", r"\b\w|\w\b"),
                          ("end", r".\Z|o$|^."), ("posix", r"[[:punct:][:upper:]]+"), ("not", r"[^\W\d_]+|\h\v?"),
                          ("dot", r".")]:
        case(op, f"{name}-remove", texts(TEXTS) + [text(pattern)], behaviour="remove")
        case(op, f"{name}-remove-invert", texts(TEXTS) + [text(pattern)], behaviour="remove", invert=True)
    metaspace = ["▁Hello▁world", "Hello▁▁▁world▁", "▁", "▁▁", "a", "▁a▁b"]
    for behaviour in ["remove", "isolate", "contiguous", "mergedwithprevious", "mergedwithnext"]:
        for invert in [False, True]:
            name = behaviour + ("-invert" if invert else "")
            case(op, f"metaspace-{name}", texts(metaspace) + [text("▁")], behaviour=behaviour, invert=invert)
        case(op, f"hyphen-{behaviour}", texts(["the-final--countdown", "-a-", "--", "a"]) + [text("-")], behaviour=behaviour)
        case(op, f"most-{behaviour}", texts(["a-b-c-d", "-a-b", "a"]) + [text("-")], behaviour=behaviour, max_splits=2)
    rows_of = ragged([["a b", "c d", ""], [], ["e f"]])
    case(op, "skips", rows_of + [flags([False, True, False, True]), text(r"\s")], behaviour="remove")
    case(op, "empty-among-others", texts(["", "a▁b", ""]) + [text("▁")], behaviour="mergedwithnext")
    case(op, "empty", texts([""]) + [text(r"\s")], behaviour="remove")
    case(op, "empty-match", texts(["ab"]) + [text("x*")], behaviour="isolate")
    case(op, "old-skips", texts(["a b", "[A B]", "c d"]) + [text(" ")] + strings(["[A B]"]), behaviour="remove")


def special():
    op = "SpecialTokensSplit"
    case(op, "one-group", texts(TEXTS) + [text(SPECIAL)])
    case(op, "stripped", texts(["a <s> b</s>  c", "<s>", " <s> "]) + [text(r"(?:\s*)(<s>)|(</s>)(?:\s*)")])
    case(op, "no-group", texts(["a<s>b"]) + [text("<s>")])
    case(op, "empty", texts([""]) + [text("(<s>)")])


def replacements():
    op = "RegexNormalization"
    patterns = [("control", r"([\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\p{Cf}])", ""), ("space", r"\s", " "),
                ("han", r"([\p{Han}])", " $1 "), ("marks", r"\p{Mn}", ""), ("metaspace", " ", "▁"),
                ("prefix", "(^)([^▁])", "▁$2"), ("prepend", r"(?:^)([\s\S])", "<$1"), ("not-space", r"^(\S)", " $1"),
                ("strip", r"^\s*|\s*$", ""), ("strip-seen", r"^\s*|\s*$", "|"), ("end", r"\s*$", "X"), ("stars", "l*", "-"),
                ("clean-up", r"(?| ([\.\?\!,])| ('[ms])| (') | ('[rv]e)| (n't))", "$1"), ("backslash", r"(\w)(\w)", r"\2\1"),
                ("dollars", "([aeiou])", "$$${1}$0"), ("unset", "(a)|(b)", "$1"), ("missing", "a", "$3"),
                ("caseless", "(?i)[a-fß]|Σ", "_"), ("lazy", "l*?", "-"), ("named", "(?<v>[aeiou])", "[$v]"),
                ("ahead", r"\p{L}(?=\P{L})|(?<!\p{L})\p{L}", "#"), ("empty-first", "|l", "-"), ("old-first", "(^)(.)", "▁$2")]
    for name, pattern, to in patterns:
        plain = TEXTS + ["do n't you , 've it 's .", "a b a"]
        case(op, name, strings(plain) + [text(pattern), text(to)], global_replace=True)
        if name in ("space", "stars", "marks"):
            case(op, f"{name}-once", strings(plain) + [text(pattern), text(to)], global_replace=False)
    case(op, "skips", strings(["a b", "c d"]) + [flags([True, False]), text(" "), text("")])
    case(op, "matrix", strings(["a b", "c d", "", " "], shape=(2, 2)) + [text(" "), text("")])


def normal_forms():
    op = "CharsMapNormalization"
    marks = ["a\u0301\u0323", "\u1112\u1161\u11ab\u11ab", "\u0958 \u0929\u093c", "ｶﾞ ﾊﾟ", "가\u11a8", "\u0344", "Ω Å K", "ﷺ",
             "A\u030a\u0301 \u212b\u0301", "ϓ\u0301 ΰ", "a\u0308\u0304 \u01df"]
    for form in ["nfc", "nfd", "nfkc", "nfkd"]:
        for fold in [False, True]:
            name = form + ("-fold" if fold else "")
            case(op, name, strings(TEXTS + marks), normalization_form=form, case_fold=fold, remove_extra_whitespaces=False)
    case(op, "fold", strings(TEXTS), normalization_form="identity", case_fold=True, remove_extra_whitespaces=False)
    for name, attrs in [("extra", dict(remove_extra_whitespaces=True)), ("escape", dict(escape_whitespaces=True)),
                        ("prefix", dict(add_dummy_prefix=True)),
                        ("all", dict(remove_extra_whitespaces=True, escape_whitespaces=True, add_dummy_prefix=True))]:
        attrs = {"remove_extra_whitespaces": False} | attrs
        case(op, name, strings(TEXTS + ["  ", " a  b ", ""]), normalization_form="nfkc", **attrs)
    case(op, "skips", strings(["É", "É"]) + [flags([True, False])], normalization_form="nfd", remove_extra_whitespaces=False)
    case(op, "broken-text", strings([b"a\xffb", b"\xe2\x82", b"\xed\xa0\x80", b"\xc0\x80"]), normalization_form="nfc",
         remove_extra_whitespaces=False)
    case(op, "map", strings(["abc", "ab c", "xa"]) + [Arg(charsmap({b"ab": b"X", b"abc": b"YZ", b" ": b""}), True)],
         remove_extra_whitespaces=False)
    case(op, "map-skips", strings(["abc", "ab"]) + [flags([False, True]), Arg(charsmap({b"ab": b"X"}), True)],
         remove_extra_whitespaces=False)
    case(op, "broken-map", strings(["abc"]) + [Arg(np.array([9, 0, 0, 0, 1], np.uint8), True)], remove_extra_whitespaces=False)
    for form in ["NFC", "NFD", "NFKC", "NFKD"]:
        case("NormalizeUnicode", form.lower(), strings(TEXTS + marks), normalization_form=form)
    case("NormalizeUnicode", "skips", strings(["É", "É"]) + [flags([True, False])], normalization_form="NFD")
    case("CaseFold", "unicode", strings(TEXTS))
    case("CaseFold", "ascii", strings(TEXTS), encoding="")
    case("CaseFold", "upper", strings(TEXTS), encoding="", lower=False)


def charsmap(rules):
    """A map in SentencePiece's format: a double array of one block for each node."""
    tree, values = {}, {}
    texts_ = b""
    for key, value in rules.items():
        node = tree
        for b in key:
            node = node.setdefault(b, {})
        node[None] = len(texts_)
        texts_ += value + b"\0"
    units, block = {}, [1]

    def place(at, node):
        base = block[0] * 256
        block[0] += 1
        # Offsets are relative, by exclusive or; multiples of 256 need the long form.
        offset = at ^ base
        units[at] = units.get(at, 0) | (offset >> 8) << 10 | 1 << 9
        if None in node:
            units[at] |= 1 << 8
            units[base] = node[None] | 1 << 31
        for b, child in node.items():
            if b is not None:
                units[base ^ b] = b
                place(base ^ b, child)

    place(0, tree)
    array = np.zeros(block[0] * 256, np.uint32)
    for at, unit in units.items():
        array[at] = unit
    blob = array.astype("<u4").tobytes()
    return np.frombuffer(len(blob).to_bytes(4, "little") + blob + texts_, np.uint8)


def bytes_and_text():
    broken = [b"ok \xe2\x82\xac", b"\x80", b"a\xe2\x82", b"\xe2\x82a", b"\xe2\xc3\xa9", b"\xc0\x80", b"\xf0\x80\x80\x80", b"\xff\xf8",
              b"\xed\xa0\x80", b"\xf7\xbf\xbf\xbf", b"\xf0\x9f\x91", b"\xc3\xa9\xc3", b""]
    for mode in [True, False]:
        case("UTF8Validate", "replace" if mode else "drop", strings(TEXTS + broken), replace_mode=mode)
    case("ByteFallback", "words", strings(["<0x0A>", "a", "<0xFF>", "<0xc3>", "<mask>", "<0x41>x", "", "<0x>", "<<0x4>", "▁b"]))
    every = [bytes(range(i, i + 64)) for i in range(0, 256, 64)]
    case("BytesToChars", "every", texts(every + ["é", ""]))
    case("BytesToChars", "skips", ragged([["é ", "é "], ["\n"]]) + [flags([True, False, False])])
    chars = "".join(chr(b) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174 else "" for b in range(256))
    case("CharsToBytes", "words", ragged([["Ġé", "Ċ", chars], ["".join(map(chr, range(256, 324)))], [""]]))


def tokenizers():
    vocab = ["a", "b", "c", "d", " ", "ab", "bc", "abc", "aa", "aaa", "é", "<unk>", "<0xE6>", "d</w>", "cd</w>"]
    merges = ["b c", "a b", "a bc", "a a", "aa a"]
    pairs = [m.split() for m in merges]
    words = ["abc", "abab", "aaaaaaa", "", "x", "axb", "é漢", "dcba", "aaab", "cdcd"]
    old = [strings(vocab, True), strings(merges, True)]
    new = [strings(vocab, True), strings([p[0] for p in pairs], True), strings([p[1] for p in pairs], True)]
    added = strings(["<s>", "ab"], True) + [ints([20, 30], const=True)]
    flat = lambda parts: [a for part in parts for a in part]
    op = "BPETokenizer"
    case(op, "spaced", texts(words) + flat(old))
    case(op, "pairs", texts(words) + flat(new))
    case(op, "added", texts(words + ["a<s>b", "<s>"]) + flat(old) + added)
    case(op, "pairs-added", texts(words + ["a<s>b"]) + flat(new) + added)
    case(op, "unknown", texts(words) + flat(new), unk_token="<unk>")
    case(op, "fused", texts(words + ["xyz"]) + flat(new), unk_token="<unk>", fuse_unk=True)
    case(op, "bytes", texts(words) + flat(new), unk_token="<unk>", byte_fallback=True)
    case(op, "suffix", texts(words) + flat(new), end_suffix="</w>")
    case(op, "rows", ragged([["ab", "c"], [], ["abc", "abc"]]) + flat(new))
    op = "WordpieceTokenizer"
    vocab = ["[UNK]", "un", "##aff", "##able", "##a", "a", "##b", "hello", "é", "##é", "##"]
    words = ["unaffable", "hello", "unaffx", "a", "ab", "abbb", "éé", "x", "unaff", "a" + "b" * 99, "a" + "b" * 100]
    case(op, "words", texts(words) + strings(vocab, True) + [ints(0, const=True)])
    case(op, "rows", ragged([["un", "a"], [], ["hello"]]) + strings(vocab, True) + [ints(7, const=True)])
    case(op, "short", texts(words) + strings(vocab, True) + [ints(0, const=True)], max_bytes_per_word=4, suffix_indicator="##")
    op = "UnigramTokenizer"
    vocab = ["<unk>", "▁", "a", "b", "ab", "▁a", "aba", "▁漢", "e", "l", "ll", "he", "lo", "hello"]
    scores = [0.0, -2.0, -3.0, -3.5, -4.0, -3.0, -9.0, -5.0, -2.5, -2.5, -3.0, -4.0, -4.0, -12.0]
    words = ["▁ab", "aba", "hello", "▁hello", "x", "axxb", "▁漢字", "👍a", "", "abababa", "hellohello"]
    for unknown in [0, 3]:
        case(op, f"unknown-{unknown}", texts(words) + strings(vocab, True) + [Arg(np.array(scores, np.float32), True)],
             unk_token_id=unknown)
    case(op, "rows", ragged([["ab", "a"], [], ["x"]]) + strings(vocab, True) + [Arg(np.array(scores, np.float32), True)])
    op = "TrieTokenizer"
    vocab = ["a", "ab", "abc", "b", "c", "é", "", "漢"]
    ids = ints([1, 2, 3, 4, 5, 6, 0, 8], const=True)
    case(op, "words", texts(["abcab", "cba", "é漢", "abab"]) + strings(vocab, True) + [ids])
    op = "VocabEncoder"
    for et in [np.int32, np.int64]:
        values = [Arg(np.array([5, 6, 7, 8], et), True), Arg(np.array(-1, et), True)]
        case(op, np.dtype(et).name, strings(["a", "b", "zz", "", "ab"]) + strings(["a", "ab", "b", "a"], True) + values)
    op = "VocabDecoder"
    vocab = strings(["a", "bc", "", "漢", "<s>"], True)
    case(op, "skip-input", [ints([[0, 1, 4], [3, 9, 2]])] + vocab + [ints([4], const=True)])
    case(op, "skip-attribute", [ints([[0, 1, 4], [3, -1, 2]])] + vocab, skip_tokens=[0, 3])
    case(op, "no-columns", [ints(np.zeros((2, 0), np.int32))] + vocab)


def shapes():
    op = "CombineSegments"
    one = lambda values, const=True: [ints(0, const=const), ints(len(values), const=const), ints(values, const=const)]
    case(op, "special", one([101]) + rows([2, 0, 3]) + [ints([1, 2, 3, 4, 5])] + one([102]) + [ints([0, 0, 0], const=True)])
    case(op, "pair", one([1]) + rows([2, 1]) + [ints([5, 6, 7])] + one([2]) + rows([1, 2]) + [ints([8, 9, 10])] + one([3])
         + [ints([0, 0, 0, 1, 1], const=True)])
    case(op, "gaps", [ints([3, 0]), ints([5, 1]), ints([1, 2, 3, 4, 5])] + [ints([7], const=True)])
    op = "Truncate"
    options = lambda length, side, mode="longest_first": [ints(length, const=True), text(side), text(mode)]
    for side in ["left", "right"]:
        for length in [0, 2, 4, 100]:
            case(op, f"{side}-{length}", rows([3, 0, 5]) + [ints(range(8))] + options(length, side))
        for mode in ["only_first", "only_second", "longest_first"]:
            for length in [3, 4, 7]:
                pair = rows([5, 1, 2, 6]) + [ints(range(14))] + rows([5, 6, 1, 2]) + [ints(range(14))]
                case(op, f"pair-{side}-{mode}-{length}", pair + options(length, side, mode))
    op = "RaggedToDense"
    for right in [True, False]:
        side = "right" if right else "left"
        for length in [0, 2, 4]:
            case(op, f"{side}-{length}", rows([3, 0, 2]) + [ints([1, 2, 3, 4, 5]), ints(length), ints(-1, const=True)], pad_right=right)
    case(op, "input", rows([3, 0, 2]) + [ints([1, 2, 3, 4, 5]), ints(4), ints(0, const=True), Arg(np.array(False), True)])
    case(op, "i64", rows([1, 2]) + [ints([1, 2, 3], np.int64), ints(3, const=True), ints(9, np.int64, True)])
    case(op, "inner", rows([1, 2]) + [ints([[1, 2], [3, 4], [5, 6]]), ints(2, const=True), ints(0, const=True)])
    case("RaggedToSparse", "rows", rows([2, 0, 3]))
    for count in [5, 4, 7]:
        case("RaggedToRagged", f"rows-{count}", [ints([0, 0, 2, 3, 3, 3]), ints(count, const=True)])
    case("RaggedToRagged", "none", [ints(np.zeros(0, np.int32)), ints(2, const=True)])
    case("RaggedTensorPack", "rows", rows([2, 1]) + [ints([1, 2, 3])])
    case("FuzeRagged", "rows", rows([2, 1, 3]) + [ints([0, 2, 3, 3, 7, 8]), ints([2, 3, 3, 7, 8, 9])])
    case("EqualStr", "pairs", strings(["a", "b", "", "c"]) + strings(["a", "x", "", "cc"]))
    case("EqualStr", "one", strings(["a", "b", "a"]) + strings(["a"]))
    case("EqualStr", "none", strings([]) + strings(["a"]))
    lengths = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 127, 128, 129, 200, 256]
    words = ["".join(chr(33 + (i * 7 + n) % 90) for i in range(n)) for n in lengths] + ["漢字"]
    for buckets in [1, 10, 1000003, 2**62 + 1]:
        case("StringToHashBucket", f"buckets-{buckets}", strings(words), num_buckets=buckets)
    words = strings(["a", "bb", "", "c", "dd", "e"], shape=(2, 3))
    for axis in [0, 1, -1]:
        case("ContribStringJoin", f"axis-{axis}", words + [text(", "), ints(axis, np.int64, True)])
    case("ContribStringJoin", "line", strings(["a", "b", "c"]) + [text(""), ints(0, np.int64, True)])
    for name, delimiter in [("comma", ","), ("two", ", "), ("none", "")]:
        for skip in [False, True]:
            case("ContribStringSplit", name + ("-skip" if skip else ""),
                 strings(["a,b", "", ",a, b,,", "x"], shape=(2, 2)) + [text(delimiter), Arg(np.array(skip), True)])
    case("StringTensorPack", "begins-ends", strings(["a", "", "漢"]), mode="begins_ends")
    case("StringTensorUnpack", "strings", [Arg(np.array([["a", "漢"], ["", "bc"]]))])
    packed = np.concatenate([np.array([2, 0, 1, 4], "<i4").view(np.uint8), np.frombuffer(b"abcd", np.uint8)])
    case("StringTensorUnpack", "packed", [Arg(packed)])


for family in [splits, special, replacements, normal_forms, bytes_and_text, tokenizers, shapes]:
    family()
