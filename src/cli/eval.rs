//! `ovir eval`

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::dump::Dump;
use super::progress::Progress;
use super::state;
use super::threads::Threads;
use super::{Failure, ModelArg, Outcome, inputs, print_json, select, shown};
use crate::error::{Error, Kind, plain};
use crate::exec::Observer;
use crate::io::{self, IoError, text};
use crate::model::{Model, Outputs};
use crate::tensor::Tensor;

#[derive(Debug, clap::Args)]
#[command(after_long_help = select::GRAMMAR)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// The value of an input, by name or by index; or one file for all inputs
    ///
    /// VALUE is a literal such as `[[1,2],[3,4]]`, `1.5`, `true` or `["a","b"]`; `zeros`, `ones`,
    /// `random` or `random:seed=7`; or a file: .npy, .npz or .npz:ENTRY, .safetensors, .bin (the
    /// bytes of the elements). A prefix says the element type or the shape where the model leaves
    /// them open: `f32:[1,2]`, `[2,3]:zeros`, `i64[2,3]:random`.
    ///
    /// Random inputs of the same seed (0, unless `seed=` gives another) are not equal: the input at
    /// position N, counted from 0, is made from the seed plus N times 1000003.
    ///
    /// An .npz, .safetensors or .json file alone fills every input that has an entry of its name
    /// or index. Seeds in it are taken as they are.
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    inputs: Vec<String>,
    /// Write the outputs to an .npz, .npy (one output) or .safetensors file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Name the entries of the written file 0, 1, … in place of the outputs' names
    #[arg(long, requires = "output")]
    by_index: bool,
    /// How outputs are printed [default: short, or shape with --output]
    #[arg(long, value_enum)]
    print: Option<Print>,
    /// Keep the outputs of inner layers: a layer's name, a glob such as `encoder*`, `type:Gather`, or
    /// another selector, see below
    #[arg(long, value_name = "SELECTOR", num_args = 1.., requires = "to")]
    dump: Vec<String>,
    /// Where to keep them: a directory of .npy files, or an .npz file
    #[arg(long, value_name = "PATH", requires = "dump")]
    to: Option<PathBuf>,
    /// Begin with these values of variables (ReadValue): an .npz or .safetensors file with an entry
    /// for each variable that is not to have its initial value
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Write what the evaluation leaves in variables (Assign) to an .npz or .safetensors file
    #[arg(long, value_name = "FILE")]
    state_output: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Print JSON, every element included
    #[arg(long, conflicts_with = "print")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Print {
    /// Values, large tensors abbreviated
    Short,
    /// Every value
    Full,
    /// Element types and shapes
    Shape,
    /// Nothing
    None,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    args.threads.start()?;
    let limits = args.model.limits.begin()?;
    let format = args.output.as_deref().map(Format::of).transpose()?;
    let model = Model::read_with(&args.model.model, &limits)?;
    model.check_supported()?;
    if format == Some(Format::Npy) && model.outputs().len() != 1 {
        let message = format!(
            "an .npy file holds one output, the model has {}; write an .npz file",
            model.outputs().len()
        );
        return Err(Failure::Usage(message));
    }
    let inputs = inputs::read(&model, &args.inputs, &limits)?;
    let mut dump = match &args.to {
        Some(path) => Some(Dump::new(&model, &args.dump, path)?),
        None => None,
    };
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    if let Some(dump) = &mut dump {
        observers.push(dump);
    }
    let mut progress = Progress::of_layers([&model]);
    observers.extend(progress.observers());
    if args.state.is_some() || args.state_output.is_some() {
        state::expect_variables(&model)?;
    }
    let mut request = model.infer_request();
    if let Some(path) = &args.state {
        state::read(&mut request, path, &limits)?;
    }
    let evaluated = request.infer_with(inputs, &limits, &mut observers);
    drop(observers);
    drop(progress);
    let dumped = dump
        .map(|dump| dump.finish(evaluated.is_ok()))
        .transpose()?;
    let outputs = evaluated?;
    if let (Some(path), Some(format)) = (&args.output, format) {
        write(path, format, &outputs, args.by_index)?;
    }
    if let Some(path) = &args.state_output {
        state::write(&request, path)?;
    }
    if args.json {
        return print_json(out, "eval/1", to_json(&outputs));
    }
    let default = if args.output.is_some() {
        Print::Shape
    } else {
        Print::Short
    };
    print(&outputs, args.print.unwrap_or(default), out)?;
    if args.print != Some(Print::None) {
        if let (Some(path), Some(count)) = (&args.to, dumped) {
            writeln!(out, "dumped {count} tensors to {}", shown(path))?;
        }
        for path in [&args.output, &args.state_output].into_iter().flatten() {
            writeln!(out, "wrote {}", shown(path))?;
        }
    }
    Ok(())
}

fn print(outputs: &Outputs, how: Print, out: &mut dyn Write) -> Outcome {
    let options = match how {
        Print::None => return Ok(()),
        Print::Full => text::Options::exact(),
        Print::Short | Print::Shape => text::Options::default(),
    };
    for (name, tensor) in outputs.iter() {
        writeln!(out, "{}: {tensor:?}", plain(name))?;
        if how != Print::Shape {
            writeln!(out, "{}", text::format(tensor, &options))?;
        }
    }
    Ok(())
}

/// The kinds of files outputs are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Npy,
    Npz,
    Safetensors,
}

impl Format {
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        let extension = path.extension().map(|e| e.to_ascii_lowercase());
        match extension.as_ref().and_then(|e| e.to_str()) {
            Some("npy") => Ok(Self::Npy),
            Some("npz") => Ok(Self::Npz),
            Some("safetensors") => Ok(Self::Safetensors),
            _ => Err(Failure::Usage(format!(
                "cannot tell what to write to {}: its extension is not .npz, .npy or .safetensors",
                shown(path)
            ))),
        }
    }
}

fn write(path: &Path, format: Format, outputs: &Outputs, by_index: bool) -> Result<(), Failure> {
    let names = match by_index {
        true => (0..outputs.len()).map(|index| index.to_string()).collect(),
        false => io::entry_names(outputs.iter().map(|(name, _)| name)),
    };
    let tensors = outputs.iter().map(|(_, tensor)| tensor);
    let entries: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(tensors).collect();
    write_entries(path, format, entries).map_err(file_error)
}

/// Writes named tensors; for an .npy file there is one.
pub(super) fn write_entries(
    path: &Path,
    format: Format,
    entries: Vec<(&str, &Tensor)>,
) -> Result<(), IoError> {
    match format {
        Format::Npy => io::npy::write(path, entries[0].1),
        Format::Npz => io::npz::write(path, entries),
        Format::Safetensors => io::safetensors::write(path, entries),
    }
}

/// An error of a file that is written.
pub(super) fn file_error(error: IoError) -> Failure {
    Failure::Error(Error::new(Kind::Io, error.to_string()))
}

fn to_json(outputs: &Outputs) -> serde_json::Value {
    let list: Vec<_> = outputs
        .iter()
        .map(|(name, tensor)| {
            json!({
                "name": name,
                "element_type": tensor.element_type().name(),
                "shape": &tensor.shape()[..],
                "data": super::json::elements(tensor),
            })
        })
        .collect();
    json!({ "outputs": list })
}
