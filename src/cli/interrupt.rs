//! Ends the process when it is told to, or when its time is over, and does not end by itself.

use std::io::{self, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{process, thread};

use crate::error::{Error, Kind, Result};
use crate::files::remove_temporary_files;
use crate::limits::CancelToken;

/// How long a command may take to end by itself: a layer or a write that is under way is waited for.
const GRACE: Duration = Duration::from_secs(1);

/// How long a message may take that perhaps nobody reads.
const TOLD: Duration = Duration::from_millis(100);

/// From now on Ctrl-C and requests to terminate use the token; a second one ends the process at
/// once. So it ends if it did not by itself [`GRACE`] after the first, or after the deadline.
///
/// # Errors
/// When the system refuses.
pub(super) fn watch(deadline: Option<Instant>) -> Result<CancelToken> {
    let token = CancelToken::new();
    let own = token.clone();
    let signalled = move || {
        if own.is_cancelled() {
            end(Kind::Cancelled, "interrupted twice");
        }
        own.cancel();
        end_after(GRACE, Kind::Cancelled, "interrupted; a layer did not end");
    };
    ctrlc::set_handler(signalled)
        .map_err(|e| Error::new(Kind::Io, format!("cannot handle signals: {e}")))?;
    if let Some(deadline) = deadline {
        let left = deadline.saturating_duration_since(Instant::now());
        let message = "the time limit is over; a layer did not end";
        end_after(left.saturating_add(GRACE), Kind::Deadline, message);
    }
    Ok(token)
}

fn end_after(time: Duration, kind: Kind, message: &'static str) {
    let wait = move || {
        thread::sleep(time);
        end(kind, message);
    };
    // Without the thread the process ends when its work does.
    let _ = thread::Builder::new().spawn(wait);
}

fn end(kind: Kind, message: &'static str) -> ! {
    let removed = remove_temporary_files();
    let (told, heard) = mpsc::channel();
    // Standard error may be closed, or be a pipe that nobody reads.
    let tell = move || {
        let _ = writeln!(io::stderr(), "error: {message}");
        let _ = told.send(());
    };
    if thread::Builder::new().spawn(tell).is_ok() {
        let _ = heard.recv_timeout(TOLD);
    }
    let code = i32::from(kind.exit_code());
    drop(removed);
    process::exit(code)
}
