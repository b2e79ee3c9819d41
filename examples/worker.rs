//! Evaluates a model again and again at the word of a program that measures, over pipes.
//!
//! ```text
//! worker --model model.xml --inputs inputs.txt [--threads N] [--cold]
//! ```
//!
//! Each line of `inputs.txt` is `name type d0,d1,… file`: raw little-endian elements, `-` for a
//! scalar's shape. `run N` answers the nanoseconds of each of `N` evaluations, `dump FOLDER` writes
//! the outputs. With `--cold` the first evaluation is the only one.

use std::error::Error;
use std::fs;
use std::io::{BufRead, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use half::f16;
use ovir::tensor::{Element, ElementType, Shape, SharedBytes, Tensor, TensorError};
use ovir::{CompileOptions, InferRequest, Model, Outputs};

type Failure = Box<dyn Error>;

struct Arguments {
    model: PathBuf,
    inputs: PathBuf,
    threads: usize,
    cold: bool,
}

fn arguments() -> Result<Arguments, Failure> {
    let (mut model, mut inputs, mut threads, mut cold) = (None, None, 1, false);
    let mut rest = std::env::args().skip(1);
    while let Some(option) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{option} needs a value"));
        match option.as_str() {
            "--model" => model = Some(value()?.into()),
            "--inputs" => inputs = Some(value()?.into()),
            "--threads" => threads = value()?.parse()?,
            "--cold" => cold = true,
            _ => return Err(format!("there is no option {option}").into()),
        }
    }
    Ok(Arguments {
        model: model.ok_or("--model is missing")?,
        inputs: inputs.ok_or("--inputs is missing")?,
        threads,
        cold,
    })
}

fn read_inputs(list: &Path) -> Result<Vec<(String, Tensor)>, Failure> {
    let folder = list.parent().unwrap_or(Path::new("."));
    let mut inputs = Vec::new();
    for line in fs::read_to_string(list)?.lines() {
        let [name, ty, shape, file] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            continue;
        };
        let ty: ElementType = ty.parse()?;
        let dims = shape.split(',').filter(|d| *d != "-").map(str::parse);
        let shape: Shape = dims.collect::<Result<_, _>>()?;
        let bytes = SharedBytes::new(std::sync::Arc::new(fs::read(folder.join(file))?));
        let read = Tensor::from_bytes(ty, shape, bytes)?;
        inputs.push((name.to_owned(), own(&read)?));
    }
    Ok(inputs)
}

/// A copy in a tensor's own memory: what was read from a file begins anywhere.
fn own(read: &Tensor) -> Result<Tensor, TensorError> {
    let mut copy = Tensor::zeros(read.element_type(), read.shape().clone())?;
    match read.element_type() {
        ElementType::F32 => fill::<f32>(&mut copy, read),
        ElementType::F16 => fill::<f16>(&mut copy, read),
        ElementType::I64 => fill::<i64>(&mut copy, read),
        ElementType::I32 => fill::<i32>(&mut copy, read),
        ElementType::I8 => fill::<i8>(&mut copy, read),
        ElementType::U8 => fill::<u8>(&mut copy, read),
        _ => return Ok(read.clone()),
    }?;
    Ok(copy)
}

fn fill<T: Element + Copy>(copy: &mut Tensor, read: &Tensor) -> Result<(), TensorError> {
    copy.as_mut_slice::<T>()?.copy_from_slice(read.as_slice()?);
    Ok(())
}

struct Worker {
    request: InferRequest,
    inputs: Vec<(String, Tensor)>,
}

impl Worker {
    fn run(&mut self) -> Result<Outputs, Failure> {
        let inputs = self.inputs.iter();
        let inputs = inputs.map(|(name, tensor)| (name.as_str(), tensor.clone()));
        Ok(self.request.infer(inputs)?)
    }
}

/// A figure of this process, in kB.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    let figure = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    figure.unwrap_or(0)
}

fn dump(outputs: &Outputs, folder: &str) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    for (index, (name, tensor)) in outputs.iter().enumerate() {
        let file = format!("{folder}/out{index}.bin");
        fs::write(&file, tensor.bytes())?;
        let dims: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
        let dims = if dims.is_empty() {
            "-".to_owned()
        } else {
            dims.join(",")
        };
        let name = name.replace(' ', "_");
        writeln!(stdout(), "o {name} {} {dims} {file}", tensor.element_type())?;
    }
    writeln!(stdout(), ".")?;
    Ok(())
}

fn main() -> Result<(), Failure> {
    let arguments = arguments()?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.threads)
        .use_current_thread()
        .build_global()?;
    let inputs = read_inputs(&arguments.inputs)?;
    let start = Instant::now();
    let model = Model::read(&arguments.model)?;
    let load = start.elapsed().as_nanos();
    let start = Instant::now();
    let compiled = model.compile(&CompileOptions::default())?;
    let mut worker = Worker {
        request: compiled.infer_request(),
        inputs,
    };
    let compile = start.elapsed().as_nanos();
    let start = Instant::now();
    let first_outputs = worker.run()?;
    let first = start.elapsed().as_nanos();
    let (rss, peak) = (memory("VmRSS:"), memory("VmHWM:"));
    let figures = format!("load_ns {load} compile_ns {compile} first_ns {first}");
    if arguments.cold {
        let bytes = first_outputs.iter().next().map_or(0, |(_, tensor)| {
            tensor.bytes().iter().map(|&b| u64::from(b)).sum()
        });
        writeln!(stdout(), "cold {figures} hwm_kb {peak} byte_sum {bytes}")?;
        return Ok(());
    }
    writeln!(stdout(), "ready {figures} rss_kb {rss} hwm_kb {peak}")?;
    drop(first_outputs);
    for line in stdin().lock().lines() {
        let line = line?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["run", count] => {
                let mut times = Vec::new();
                for _ in 0..count.parse::<usize>()? {
                    let start = Instant::now();
                    drop(worker.run()?);
                    times.push(start.elapsed().as_nanos().to_string());
                }
                writeln!(stdout(), "t {}", times.join(" "))?;
            }
            ["dump", folder] => dump(&worker.run()?, folder)?,
            ["quit"] => break,
            _ => writeln!(stdout(), "? {line}")?,
        }
        stdout().flush()?;
    }
    Ok(())
}
