//! Colours of a terminal.

use std::io::IsTerminal;

/// Whether what is printed may have colours: on a terminal, unless the user wants none (`NO_COLOR`,
/// <https://no-color.org>).
pub(super) fn wanted(no_color: bool) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !no_color && !refused && std::io::stdout().is_terminal()
}

/// What a line says of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Only the second has it.
    Added,
    /// Only the first has it.
    Removed,
    /// Both have it, and not the same.
    Changed,
}

impl Mark {
    /// The line with its mark before it, coloured if wanted.
    pub(super) fn line(self, text: &str, colour: bool) -> String {
        let (mark, code) = match self {
            Self::Added => ('+', "32"),
            Self::Removed => ('-', "31"),
            Self::Changed => ('~', "33"),
        };
        if colour {
            format!("\u{1b}[{code}m{mark} {text}\u{1b}[0m")
        } else {
            format!("{mark} {text}")
        }
    }
}
