//! Expressions of tokenizers, where dialects differ, replacements, and limits.

use super::*;

fn finds(pattern: &str, text: &str) -> Vec<String> {
    let regex = Regex::new(pattern.as_bytes()).expect(pattern);
    let subject = Subject::new(text.as_bytes());
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(range) = regex.find(&subject, at).expect("in limits") {
        if range.is_empty() {
            break;
        }
        at = range.end;
        found.push(text[range].to_owned());
    }
    found
}

fn replaced(pattern: &str, to: &str, text: &[u8]) -> String {
    let regex = Regex::new(pattern.as_bytes()).expect(pattern);
    let mut out = Vec::new();
    let done = regex.replace(text, to.as_bytes(), true, &mut out);
    done.expect("in limits");
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn patterns_of_tokenizers() {
    let gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
    assert_eq!(
        finds(gpt2, "It's  ok, 42\n\n x"),
        ["It", "'s", " ", " ok", ",", " 42", "\n\n", " x"]
    );
    let llama = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
    assert_eq!(
        finds(llama, "I'LL pay 12345!!\r\n é"),
        ["I", "'LL", " pay", " ", "123", "45", "!!\r\n", " é"]
    );
    let gpt4 = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
    assert_eq!(
        finds(gpt4, "don'T 1234  \n"),
        ["don", "'T", " ", "123", "4", "  \n"]
    );
    let bert = r"[!-/]|[:-@]|[\[-`]|[{-~]|[\p{P}]|[\x{4E00}-\x{9FFF}]";
    assert_eq!(finds(bert, "a[b]~漢—"), ["[", "]", "~", "漢", "—"]);
    assert_eq!(
        finds(r"(\[UNK\]|<\|x\|>)", "a[UNK]<|x|>"),
        ["[UNK]", "<|x|>"]
    );
}

#[test]
fn where_the_dialects_differ() {
    // A dollar is also before the last end of line.
    assert_eq!(finds("a$", "a\n"), ["a"]);
    assert_eq!(finds("(?m)^a$", "a\na\nb"), ["a", "a"]);
    assert_eq!(finds(r"\w+", "a²_b\u{301}-c"), ["a²_b\u{301}", "c"]);
    assert_eq!(finds(r"\bc\b", "ac c"), ["c"]);
    assert_eq!(finds(r"\s", "a\u{180E}b\u{85}"), ["\u{180E}", "\u{85}"]);
    assert_eq!(finds(r"\p{Han}", "々a、漢"), ["々", "、", "漢"]);
    assert_eq!(finds(r"[]a-]+", "x]-a"), ["]-a"]);
    assert_eq!(finds(r"[\w-]+", "a-b c"), ["a-b", "c"]);
    assert_eq!(finds(r"[a&&b]", "&"), ["&"]);
    assert_eq!(finds(r"[[:alpha:][:digit:]]+", "é1["), ["é1"]);
    assert_eq!(finds(r"x{,2}y|{", "xxy{"), ["xxy", "{"]);
    assert_eq!(finds(r"\Qa.b\E+", "a.bb"), ["a.bb"]);
    assert_eq!(finds(r"[\Q^]\Ea]+", "x^]a"), ["^]a"]);
    assert_eq!(finds("(?x) a b # c\n c", "abc"), ["abc"]);
    assert_eq!(
        finds(r"(?<q>['`])\w\k<q>|(a)\g{-1}", "'x' 'y` aa"),
        ["'x'", "aa"]
    );
    assert_eq!(finds(r"(?i)ab|CD", "AB cd"), ["AB", "cd"]);
    assert_eq!(finds(r"a|(?i)B|c", "BbCAa"), ["B", "b", "C", "a"]);
    assert_eq!(finds(r"((?i)b)+|A|(?i:c)d", "bBAacCd"), ["bB", "A", "Cd"]);
    assert_eq!(finds(r"(?i)\p{Lu}|(?-i)\p{Ll}", "aA1"), ["a", "A"]);
    assert_eq!(finds(r"\x41\x{42}\103", "ABC"), ["ABC"]);
}

#[test]
fn what_is_wrong_or_not_supported() {
    for pattern in [
        "(",
        ")",
        "[a",
        "\\",
        "a(?R)",
        "(*SKIP)",
        r"\p{Nope}",
        "[b-a]",
        "(?<a",
        r"\y",
        "*",
        r"(?(1)a)",
    ] {
        assert!(Regex::new(pattern.as_bytes()).is_err(), "{pattern}");
    }
    assert!(Regex::new(b"\xff").is_err());
    assert!(Regex::new("(".repeat(10_000).as_bytes()).is_err());
}

#[test]
fn replacements() {
    assert_eq!(
        replaced(r"([\p{Han}])", " $1 ", "a漢b".as_bytes()),
        "a 漢 b"
    );
    assert_eq!(replaced("(^)([^▁])", "▁$2", "ab".as_bytes()), "▁ab");
    assert_eq!(replaced(r"^\s*|\s*$", "", b"  a b \n"), "a b");
    // As in Perl, an empty match may follow one that is not.
    assert_eq!(replaced(r"\s*$", "X", b"a "), "aXX");
    assert_eq!(replaced("x*", "-", b"abxd"), "-a-b--d-");
    assert_eq!(
        replaced("(?|a(b)|c(d))(e)", "<$1$2>", b"abe cde"),
        "<be> <de>"
    );
    assert_eq!(replaced("(?<n>a)", "${n}$n${1}$$", b"a"), "aaa$");
    // A group that takes no part, or that there is none of: nothing is replaced.
    for to in ["$1", "$3", "$", "$!", "${1", "$m"] {
        assert_eq!(replaced("(a)|(b)", to, b"b"), "b", "{to}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    assert_eq!(
        replaced("b", "c", b"a\xff\xe2\x82b\x80"),
        String::from_utf8_lossy(b"a\xff\xe2\x82c\x80")
    );
    let subject = Subject::new(b"a\xffb\xe2\x82c");
    assert_eq!(subject.len(), 9);
    let places: Vec<_> = [0, 1, 4, 5, 8, 9].map(|at| subject.place(at)).to_vec();
    assert_eq!(places, [0, 1, 2, 3, 5, 6]);
}

#[test]
fn backtracking_is_limited() {
    let regex = Regex::new(br"(?:a|a(?=a))*\d(?!x)").expect("a pattern");
    let text = "a".repeat(60);
    let found = regex.find(&Subject::new(text.as_bytes()), 0);
    assert_eq!(found.expect_err("exponential"), RegexError::Limit);
}
