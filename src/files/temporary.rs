//! The temporary files that are being written, so that a process that ends at once can remove them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn open() -> MutexGuard<'static, Vec<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that takes another's place when it is whole. Removed when dropped before that.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Makes a file in the folder of `target`, whose place it is to take.
    pub(crate) fn beside(target: &Path) -> io::Result<(File, Self)> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        loop {
            // Not of the target's name, which may be as long as names can be.
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let name = format!(".ovir-{}-{number}.tmp", std::process::id());
            match Self::create(target.with_file_name(name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created,
            }
        }
    }

    /// Makes a file that is not there yet.
    fn create(path: PathBuf) -> io::Result<(File, Self)> {
        let mut open = open();
        let file = File::create_new(&path)?;
        open.push(path.clone());
        Ok((file, Self(path)))
    }

    /// Puts the file in the place of another.
    pub(crate) fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.0, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut open = open();
        // After a rename nothing is there any more. Of two problems the first is worth telling.
        let _ = fs::remove_file(&self.0);
        open.retain(|path| *path != self.0);
    }
}

/// Removes all of them, for a process that ends at once. While the result is kept no other is made.
#[cfg(feature = "cli")]
pub(crate) fn remove_all() -> impl Drop {
    let mut open = open();
    for path in open.drain(..) {
        let _ = fs::remove_file(path);
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_take_their_place_or_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let (own, target) = (folder.path().join("own"), folder.path().join("target"));
        let (_, temporary) = Temporary::create(own.clone()).expect("a file");
        assert!(Temporary::create(own.clone()).is_err(), "it is there");
        assert!(open().contains(&own));
        temporary.rename(&target).expect("renamed");
        assert!(target.exists() && !own.exists() && !open().contains(&own));
        let (_, temporary) = Temporary::create(own.clone()).expect("a file");
        drop(temporary);
        assert!(target.exists() && !own.exists() && !open().contains(&own));
    }
}
