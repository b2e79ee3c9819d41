//! `--allow-outside`

use crate::limits::Limits;

/// Where a model's files may lie.
#[derive(Debug, clap::Args)]
pub(super) struct Outside {
    /// Read the model's constants where absolute paths, `..` and links lead out of its own folder
    #[arg(long, help_heading = "Limits")]
    allow_outside: bool,
}

impl Outside {
    pub(super) fn apply(&self, limits: &mut Limits) {
        limits.allow_outside |= self.allow_outside;
    }
}
