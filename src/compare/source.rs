//! What is compared: a model, a saved run, or a model in an installed runtime, by its text.

use std::path::{Path, PathBuf};

/// A side of a comparison, as it is named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A model that `ovir` evaluates.
    Model(PathBuf),
    /// A saved run: a file of tensors, or a folder of `.npy` files.
    Saved(PathBuf),
    /// A model in a runtime. Without a path, the model of the other side.
    Runtime(Runtime, Option<PathBuf>),
}

/// A runtime and where it computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// Which runtime.
    pub kind: RuntimeKind,
    /// OpenVINO's device, or the execution provider of ONNX Runtime.
    pub device: String,
}

/// The runtimes that can be driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeKind {
    /// OpenVINO.
    OpenVino,
    /// ONNX Runtime.
    OnnxRuntime,
}

impl RuntimeKind {
    /// The name of its Python package.
    pub fn package(self) -> &'static str {
        match self {
            Self::OpenVino => "openvino",
            Self::OnnxRuntime => "onnxruntime",
        }
    }
}

const MODELS: [&str; 7] = ["xml", "onnx", "pb", "pdmodel", "tflite", "pt", "pt2"];

impl Source {
    /// Reads `model.xml`, `run.npz`, `folder/`, `openvino:CPU`, `openvino:CPU:model.xml`,
    /// `onnxruntime:model.onnx` or `onnxruntime:CUDA:model.onnx`.
    ///
    /// # Errors
    /// When a runtime is named without a device.
    pub fn parse(text: &str) -> Result<Self, String> {
        let kinds = [RuntimeKind::OpenVino, RuntimeKind::OnnxRuntime];
        for kind in kinds {
            let name = kind.package();
            let rest = match text.strip_prefix(name) {
                Some("") => "",
                Some(rest) => match rest.strip_prefix(':') {
                    Some(rest) => rest,
                    None => continue,
                },
                None => continue,
            };
            if kind == RuntimeKind::OpenVino && rest.is_empty() {
                return Err(format!("`{text}` names no device; write openvino:CPU"));
            }
            let (device, path) = split(rest);
            let device = match device {
                "" => "CPU",
                device => device,
            };
            let device = device.to_owned();
            return Ok(Self::Runtime(Runtime { kind, device }, path));
        }
        let path = Path::new(text);
        let extension = path.extension().map(|e| e.to_ascii_lowercase());
        let tensors = extension.is_some_and(|e| e == "npz" || e == "npy" || e == "safetensors");
        Ok(if tensors || path.is_dir() {
            Self::Saved(path.to_owned())
        } else {
            Self::Model(path.to_owned())
        })
    }

    /// The model's file, if it names one.
    pub fn model(&self) -> Option<&Path> {
        match self {
            Self::Model(path) => Some(path),
            Self::Saved(_) => None,
            Self::Runtime(_, path) => path.as_deref(),
        }
    }
}

/// A device, whose name may hold colons (`HETERO:GPU,CPU`), and a model's file behind it.
fn split(text: &str) -> (&str, Option<PathBuf>) {
    let is_model = |path: &str| {
        let extension = Path::new(path).extension().and_then(|e| e.to_str());
        extension.is_some_and(|e| MODELS.iter().any(|m| e.eq_ignore_ascii_case(m)))
    };
    let colons = text.match_indices(':');
    let splits = colons.map(|(at, _)| (&text[..at], &text[at + 1..]));
    // The letter of a drive is no device.
    let mut splits = splits.filter(|(device, path)| device.len() > 1 || !path.starts_with('\\'));
    let there = splits.clone().find(|(_, path)| Path::new(path).is_file());
    let there = there.or_else(|| splits.rfind(|(_, path)| is_model(path)));
    match there {
        Some((device, path)) => (device, Some(path.into())),
        None if is_model(text) => ("", Some(text.into())),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(kind: RuntimeKind, device: &str, path: Option<&str>) -> Source {
        let device = device.to_owned();
        Source::Runtime(Runtime { kind, device }, path.map(PathBuf::from))
    }

    #[test]
    fn sides() {
        use RuntimeKind::{OnnxRuntime, OpenVino};
        for (text, expected) in [
            ("a.xml", Source::Model("a.xml".into())),
            ("a.onnx", Source::Model("a.onnx".into())),
            ("openvino.xml", Source::Model("openvino.xml".into())),
            ("a/run.NPZ", Source::Saved("a/run.NPZ".into())),
            ("src", Source::Saved("src".into())),
            ("openvino:CPU", runtime(OpenVino, "CPU", None)),
            (
                "openvino:CPU:a/b.xml",
                runtime(OpenVino, "CPU", Some("a/b.xml")),
            ),
            (
                "openvino:GPU.1:b.onnx",
                runtime(OpenVino, "GPU.1", Some("b.onnx")),
            ),
            (
                "openvino:HETERO:GPU,CPU",
                runtime(OpenVino, "HETERO:GPU,CPU", None),
            ),
            ("onnxruntime", runtime(OnnxRuntime, "CPU", None)),
            (
                "onnxruntime:b.onnx",
                runtime(OnnxRuntime, "CPU", Some("b.onnx")),
            ),
            (
                "openvino:HETERO:GPU,CPU:m.xml",
                runtime(OpenVino, "HETERO:GPU,CPU", Some("m.xml")),
            ),
            (
                "onnxruntime:C:\\b.onnx",
                runtime(OnnxRuntime, "CPU", Some("C:\\b.onnx")),
            ),
            (
                "onnxruntime:CUDA:b.onnx",
                runtime(OnnxRuntime, "CUDA", Some("b.onnx")),
            ),
        ] {
            assert_eq!(Source::parse(text), Ok(expected), "{text}");
        }
        let error = Source::parse("openvino").expect_err("no device");
        assert_eq!(error, "`openvino` names no device; write openvino:CPU");
    }
}
