//! Files of tensors beside a model: read only inside the model's own folder.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::proto::StringStringEntryProto;
use crate::files::{self, Refused};
use crate::ir::BinFile;
use crate::limits::Limits;
use crate::op::{OpError, Stored, Weights, bail};

/// The folder of a model, and the files of it that were opened.
#[derive(Debug)]
pub(super) struct Folder {
    /// The model's file, if it is in one.
    model: Option<PathBuf>,
    limits: Limits,
    files: HashMap<PathBuf, BinFile>,
}

impl Folder {
    /// The folder that holds a model's file.
    pub(super) fn of(model: Option<&Path>, limits: &Limits) -> Self {
        Self {
            model: model.map(Path::to_owned),
            limits: limits.clone(),
            files: HashMap::new(),
        }
    }

    /// Bytes of all files that were opened.
    pub(super) fn bytes(&self) -> u64 {
        self.files.values().filter_map(BinFile::len).sum()
    }

    /// The bytes that a tensor's entries name; `needed` are those of its elements.
    pub(super) fn read(
        &mut self,
        entries: &[StringStringEntryProto],
        needed: u64,
    ) -> Result<Stored, OpError> {
        let entry = |key: &str| {
            let found = entries.iter().find(|e| e.key == key);
            found.map(|e| e.value.as_str())
        };
        let number = |key: &str| match entry(key).map(str::trim) {
            None => Ok(None),
            Some(text) => match text.parse::<u64>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => bail!("`{key}` of the external data is `{text}`, expected a number"),
            },
        };
        let Some(location) = entry("location").filter(|l| !l.is_empty()) else {
            bail!("the external data has no `location`");
        };
        let offset = number("offset")?.unwrap_or(0);
        if let Some(length) = number("length")?.filter(|&length| length != needed) {
            bail!(
                "`length` of the external data is {length}, the tensor's elements need {needed} bytes"
            );
        }
        self.file(location)?.stored(offset, needed)
    }

    /// The file at a location, if that is a plain path below the folder.
    fn file(&mut self, location: &str) -> Result<&BinFile, OpError> {
        let Some(model) = &self.model else {
            bail!("the data is in the file `{location}`, but the model is in no folder");
        };
        let relative = Path::new(location);
        let mut parts = relative.components();
        let inside = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        // A backslash or a drive means a path elsewhere to some systems.
        let inside = inside && !location.contains(['\\', ':', '\0']);
        if !inside && !self.limits.allow_outside {
            bail!("the external data `{location}` is not in the model's own folder");
        }
        let path = files::folder(model).join(relative);
        let real = match files::of_model(model, &path, &self.limits) {
            Ok(real) => real,
            Err(Refused::Outside) => {
                bail!("the external data `{location}` is a link out of the model's folder")
            }
            Err(Refused::System(e)) => {
                bail!("the external data `{location}` cannot be read: {e}")
            }
        };
        let file = self.files.entry(real);
        Ok(file.or_insert_with_key(|real| BinFile::open(real, &self.limits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(list: &[(&str, &str)]) -> Vec<StringStringEntryProto> {
        let entry = |&(key, value): &(&str, &str)| StringStringEntryProto {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        list.iter().map(entry).collect()
    }

    #[test]
    fn only_what_is_in_the_folder_is_read() {
        let outside = tempfile::tempdir().expect("a folder");
        let secret = outside.path().join("secret");
        std::fs::write(&secret, [7; 8]).expect("written");
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(home.path().join("sub")).expect("made");
        std::fs::write(home.path().join("w.bin"), [1, 2, 3, 4, 5, 6]).expect("written");
        std::fs::write(home.path().join("sub/w.bin"), [9; 4]).expect("written");
        let model = home.path().join("model.onnx");
        std::fs::write(&model, b"").expect("written");
        let mut folder = Folder::of(Some(&model), &Limits::default());
        let mut read = |list: &[(&str, &str)]| {
            let bytes = folder.read(&entries(list), 4);
            let bytes = bytes.and_then(|stored| stored.get());
            bytes.map(|b| b.as_bytes().to_vec()).map_err(|e| e.message)
        };
        assert_eq!(
            read(&[("location", "w.bin"), ("offset", "2"), ("length", "4")]),
            Ok(vec![3, 4, 5, 6])
        );
        assert_eq!(read(&[("location", "./sub/w.bin")]), Ok(vec![9; 4]));
        let absolute = secret.to_string_lossy();
        let up = format!(
            "../{}/secret",
            outside
                .path()
                .file_name()
                .expect("a name")
                .to_string_lossy()
        );
        for (list, message) in [
            (
                &[("location", "w.bin"), ("offset", "3")][..],
                "the file has 6",
            ),
            (&[("location", "w.bin"), ("length", "6")], "need 4 bytes"),
            (
                &[("location", "w.bin"), ("offset", "-1")],
                "expected a number",
            ),
            (&[("location", "none.bin")], "cannot be read"),
            (&[("location", "sub")], "is a directory"),
            (&[("location", &absolute)], "not in the model's own folder"),
            (&[("location", &up)], "not in the model's own folder"),
            (
                &[("location", "sub/../w.bin")],
                "not in the model's own folder",
            ),
            (
                &[("location", "C:\\w.bin")],
                "not in the model's own folder",
            ),
            (&[("offset", "0")], "no `location`"),
        ] {
            let error = read(list).expect_err(message);
            assert!(error.contains(message), "{error}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&secret, home.path().join("link")).expect("a link");
            std::os::unix::fs::symlink(outside.path(), home.path().join("dir")).expect("a link");
            for location in ["link", "dir/secret"] {
                let error = read(&[("location", location)]).expect_err("outside");
                assert!(
                    error.contains("a link out of the model's folder"),
                    "{error}"
                );
            }
        }
        assert_eq!(folder.bytes(), 10);
        let allowed = Limits {
            allow_outside: true,
            ..Limits::untrusted()
        };
        let mut folder = Folder::of(Some(&model), &allowed);
        for location in [&*absolute, &up, "sub/../w.bin"] {
            let read = folder.read(&entries(&[("location", location)]), 4);
            let bytes = read.and_then(|stored| stored.get());
            assert_eq!(bytes.expect("allowed").len(), 4, "{location}");
        }
        let mut none = Folder::of(None, &Limits::default());
        assert!(none.read(&entries(&[("location", "w.bin")]), 4).is_err());
    }
}
