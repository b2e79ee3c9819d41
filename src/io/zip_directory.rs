//! The directory at the end of a zip archive, looked at before the archive's reader allocates for
//! as many entries as it claims.
//!
//! Only what NumPy and everybody else writes is let through: one directory, right before its one
//! end record, nothing behind that but its comment.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use byteorder::{ByteOrder, LittleEndian as LE};

use super::IoError;

const END: &[u8] = b"PK\x05\x06";
const END_BYTES: u64 = 22;
const LOCATOR: &[u8] = b"PK\x06\x07";
const LOCATOR_BYTES: u64 = 20;
const WIDE_END: &[u8] = b"PK\x06\x06";
const WIDE_END_BYTES: u64 = 56;
/// An entry of the directory without its name.
const ENTRY_BYTES: u64 = 46;
/// Each entry takes a few times as much memory as its bytes here.
const MAX_DIRECTORY: u64 = 16 << 20;

/// Where the directory begins.
pub(super) fn check(file: &mut File, len: u64) -> Result<u64, IoError> {
    let unsound = || IoError::invalid("is no sound zip archive: it has no directory at its end");
    let tail_start = len.saturating_sub(END_BYTES + u64::from(u16::MAX));
    let tail = bytes_at(file, tail_start, len - tail_start)?;
    let at = last(&tail, END).ok_or_else(unsound)?;
    let (end_at, end) = (tail_start + at as u64, &tail[at..]);
    let whole = end.get(..END_BYTES as usize).ok_or_else(unsound)?;
    if usize::from(LE::read_u16(&whole[20..])) + whole.len() != end.len() {
        return Err(unsound());
    }
    let mut directory = Directory {
        entries: LE::read_u16(&whole[10..]).into(),
        bytes: LE::read_u32(&whole[12..]).into(),
        start: LE::read_u32(&whole[16..]).into(),
    };
    let mut behind = end_at;
    if let Some(at) = end_at.checked_sub(LOCATOR_BYTES) {
        let locator = bytes_at(file, at, LOCATOR_BYTES)?;
        if locator.starts_with(LOCATOR) {
            behind = LE::read_u64(&locator[8..]);
            let room = behind.checked_add(WIDE_END_BYTES);
            room.filter(|&room| room <= at).ok_or_else(unsound)?;
            let wide = bytes_at(file, behind, WIDE_END_BYTES)?;
            if !wide.starts_with(WIDE_END) {
                return Err(unsound());
            }
            directory = directory.widened(&wide).ok_or_else(unsound)?;
        }
    }
    if directory.bytes > MAX_DIRECTORY {
        return Err(IoError::limit(format!(
            "the archive's directory has {} bytes, the limit is {MAX_DIRECTORY}",
            directory.bytes
        )));
    }
    let ends = directory.start.checked_add(directory.bytes);
    let fits = directory.entries.saturating_mul(ENTRY_BYTES) <= directory.bytes;
    if ends != Some(behind) || !fits {
        return Err(unsound());
    }
    let all = bytes_at(file, directory.start, directory.bytes)?;
    if last(&all, END).is_some() || last(&all, WIDE_END).is_some() {
        return Err(unsound());
    }
    Ok(directory.start)
}

struct Directory {
    entries: u64,
    bytes: u64,
    start: u64,
}

impl Directory {
    /// With the numbers of the wide record; what the narrow one says must be the same or nothing.
    fn widened(self, wide: &[u8]) -> Option<Self> {
        let found = Self {
            entries: LE::read_u64(&wide[32..]),
            bytes: LE::read_u64(&wide[40..]),
            start: LE::read_u64(&wide[48..]),
        };
        let (short, long) = (u64::from(u16::MAX), u64::from(u32::MAX));
        let same = (self.entries == short || self.entries == found.entries)
            && (self.bytes == long || self.bytes == found.bytes)
            && (self.start == long || self.start == found.start);
        same.then_some(found)
    }
}

fn last(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).rposition(|part| part == what)
}

fn bytes_at(file: &mut File, at: u64, len: u64) -> Result<Vec<u8>, IoError> {
    let system = |e| IoError::system("read", e);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at)).map_err(system)?;
    file.take(len).read_to_end(&mut bytes).map_err(system)?;
    if bytes.len() as u64 != len {
        return Err(IoError::invalid("ends early"));
    }
    Ok(bytes)
}

/// A file with zeros before `start`, until it is opened: the reader of archives looks for another
/// directory elsewhere if it finds fault with the one that was checked.
pub(super) struct Guarded {
    file: File,
    at: u64,
    start: u64,
    opened: Arc<AtomicBool>,
}

impl Guarded {
    pub(super) fn new(mut file: File, start: u64) -> io::Result<(Self, Arc<AtomicBool>)> {
        let at = file.seek(SeekFrom::Start(start))?;
        let opened = Arc::new(AtomicBool::new(false));
        let guarded = Self {
            file,
            at,
            start,
            opened: Arc::clone(&opened),
        };
        Ok((guarded, opened))
    }
}

impl Read for Guarded {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at < self.start && !self.opened.load(Ordering::Relaxed) {
            let hidden = usize::try_from(self.start - self.at).unwrap_or(usize::MAX);
            let hidden = hidden.min(out.len());
            out[..hidden].fill(0);
            self.seek(SeekFrom::Start(self.at + hidden as u64))?;
            return Ok(hidden);
        }
        let read = self.file.read(out)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Guarded {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}
