//! How many threads a command evaluates with: `--threads`.

use std::num::NonZeroUsize;

use crate::error::{Error, Kind, Result};

/// The threads of a command.
#[derive(Debug, clap::Args)]
pub(super) struct Threads {
    /// How many threads evaluate [default: one for each core, or RAYON_NUM_THREADS]
    #[arg(short, long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl Threads {
    /// Starts them, once in a process.
    pub(super) fn start(&self) -> Result<()> {
        let threads = self.threads.map_or(0, NonZeroUsize::get);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        // The calling thread is one of them: it wakes nobody for small work.
        pool.use_current_thread()
            .build_global()
            .map_err(|e| Error::new(Kind::Limit, format!("cannot start threads: {e}")))
    }
}
