//! The sessions of README.md and docs/guide/ are real: they run, and print what the pages say.
//!
//! A block of ```` ```console ```` is a session: lines that begin with `$ ` are commands, the others
//! what they print, standard output before standard error. `ovir` runs in a folder of its own, the same
//! one for a page, with `ir-samples/` and `models/` in it; `echo $?` tells the exit code of the
//! command before. A line `...` stands for any lines, `[..]` for anything within a line. A block with
//! another command, or marked ```` ```console shown ````, does not run.
//! `OVIR_UPDATE=1 cargo test` writes what the commands print, but for blocks that hold such marks.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{files, project};

/// A command of a session, and what it prints.
struct Step {
    command: String,
    printed: Vec<String>,
}

/// Words as a shell has them, with quotes.
pub(crate) fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The steps of a block, unless it holds something that is not run.
fn steps(block: &[&str]) -> Option<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block {
        if let Some(command) = line.strip_prefix("$ ") {
            let own = command.starts_with("ovir ") && !command.contains(" | ");
            if !own && command != "echo $?" {
                return None;
            }
            steps.push(Step {
                command: command.to_owned(),
                printed: Vec::new(),
            });
        } else {
            steps.last_mut()?.printed.push((*line).to_owned());
        }
    }
    Some(steps)
}

/// Copies the folders of what a command names, and the models of the guide.
fn provide(command: &str, folder: &Path) {
    let copy = |from: &Path, to: &Path| {
        fs::create_dir_all(to).expect("a folder");
        for entry in fs::read_dir(from).unwrap_or_else(|e| panic!("{}: {e}", from.display())) {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                let name = path.file_name().expect("a name");
                fs::copy(&path, to.join(name)).expect("copied");
            }
        }
    };
    if !folder.join("models").exists() {
        copy(&project("docs/guide/models"), &folder.join("models"));
    }
    for word in words(command) {
        let Some(at) = word.find("ir-samples/") else {
            continue;
        };
        let sample = Path::new(&word[at..]).parent().expect("a folder");
        if !folder.join(sample).exists() {
            copy(&project("").join(sample), &folder.join(sample));
        }
    }
}

/// Where programs are looked for: `ovir` is one of them, for scripts that call it.
fn with_ovir() -> OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_ovir")).parent();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = own.map(Path::to_owned).into_iter();
    std::env::join_paths(folders.chain(std::env::split_paths(&others))).expect("paths")
}

/// What a command prints, and its exit code.
fn run(command: &str, folder: &Path) -> (Vec<String>, Option<i32>) {
    provide(command, folder);
    let words = words(command);
    let output = Command::new(env!("CARGO_BIN_EXE_ovir"))
        .args(&words[1..])
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .env("PATH", with_ovir())
        .output()
        .expect("the binary runs");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    (
        text.lines().map(str::to_owned).collect(),
        output.status.code(),
    )
}

/// Whether a line is what a page says, with `[..]` for anything.
fn line_fits(expected: &str, found: &str) -> bool {
    let mut parts = expected.split("[..]");
    let Some(mut rest) = parts.next().and_then(|first| found.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether lines are what a page says, with `...` for any lines.
fn fits(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=found.len()).any(|skipped| fits(rest, &found[skipped..]))
        }
        Some((first, rest)) => {
            let Some((line, others)) = found.split_first() else {
                return false;
            };
            line_fits(first, line) && fits(rest, others)
        }
    }
}

/// Runs the sessions of a page, and gives the page as it should be, and what differs.
fn page(text: &str) -> (String, Vec<String>, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut out, mut wrong, mut count) = (Vec::<String>::new(), Vec::new(), 0);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        if !line.starts_with("```") {
            continue;
        }
        let block: Vec<&str> = lines
            .by_ref()
            .take_while(|line| !line.starts_with("```"))
            .collect();
        let steps = if line == "```console" {
            steps(&block)
        } else {
            None
        };
        let Some(steps) = steps else {
            out.extend(block.iter().map(|&line| line.to_owned()));
            out.push("```".to_owned());
            continue;
        };
        let mut code = None;
        for step in steps {
            count += 1;
            let found = if step.command == "echo $?" {
                vec![code.map_or("none".to_owned(), |code: i32| code.to_string())]
            } else {
                let (found, exit) = run(&step.command, folder.path());
                code = exit;
                found
            };
            out.push(format!("$ {}", step.command));
            if fits(&step.printed, &found) {
                out.extend(step.printed);
                continue;
            }
            wrong.push(format!("$ {}\n{}", step.command, found.join("\n")));
            out.extend(found);
        }
        out.push("```".to_owned());
    }
    (out.join("\n") + "\n", wrong, count)
}

fn pages() -> Vec<PathBuf> {
    let mut pages = files(&project("docs/guide"), "md");
    pages.push(project("README.md"));
    pages
}

#[test]
fn sessions_of_the_pages_are_real() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).expect("a page");
        let (anew, found, steps) = page(&text);
        count += steps;
        if found.is_empty() {
            continue;
        }
        if std::env::var_os("OVIR_UPDATE").is_some() {
            fs::write(&path, anew).expect("a writable page");
        } else {
            let found = found.join("\n\n");
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(count > 10, "{count} commands");
    let hint = "run the tests once with OVIR_UPDATE=1 if that is right";
    assert!(wrong.is_empty(), "{}\n{hint}", wrong.join("\n\n"));
}

#[test]
fn the_runner_of_sessions_finds_what_differs() {
    assert_eq!(
        words("ovir eval 'a b' -i x=\"[1, 2]\" ''"),
        ["ovir", "eval", "a b", "-i", "x=[1, 2]", ""]
    );
    for (expected, found, fit) in [
        ("abc", "abc", true),
        ("abc", "abcd", false),
        ("a[..]c", "a to c", true),
        ("a[..]c", "a to d", false),
        ("[..]b[..]", "abc", true),
        ("a[..]a", "a", false),
    ] {
        assert_eq!(line_fits(expected, found), fit, "{expected} {found}");
    }
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    assert!(fits(&lines("a\n...\nd"), &lines("a\nb\nc\nd")));
    assert!(fits(&lines("..."), &[]));
    assert!(!fits(&lines("a\n...\nd"), &lines("a\nb\nc")));
    let text = "A page\n```console\n$ ovir ops --help\nnot this\n$ echo $?\n1\n```\n\
                ```console shown\n$ ovir ops\n```\n```console\n$ cargo test\n```\n";
    let (anew, wrong, count) = page(text);
    assert_eq!((wrong.len(), count), (2, 2));
    assert!(
        anew.contains("Usage: ovir ops") && anew.contains("$ echo $?\n0\n```\n"),
        "{anew}"
    );
    assert!(anew.ends_with("```console shown\n$ ovir ops\n```\n```console\n$ cargo test\n```\n"));
    assert_eq!(page(&anew).1, [""; 0]);
}
