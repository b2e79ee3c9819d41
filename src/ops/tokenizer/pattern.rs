//! Patterns given as bytes.

use crate::kernel::tokenizer::regex::{Regex, RegexError};
use crate::op::{Input, OpError};
use crate::ops::strings::expect_bytes;

/// Checks that an input can be text: a 1-D tensor of bytes.
pub(super) fn expect_pattern(input: &Input<'_>, what: &str) -> Result<(), OpError> {
    expect_bytes(input, what)
}

/// Compiles an expression.
///
/// # Errors
/// When the pattern is wrong or has what is not supported.
pub(super) fn compile(pattern: &[u8]) -> Result<Regex, OpError> {
    Regex::new(pattern).map_err(failed)
}

/// The error of an expression as an operation's.
pub(super) fn failed(error: RegexError) -> OpError {
    let message = error.to_string();
    match error {
        RegexError::Pattern(_) => OpError::new(message),
        RegexError::Unsupported(_) => OpError::unsupported(message),
        RegexError::Limit => OpError::limit(message),
    }
}
