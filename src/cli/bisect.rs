//! `ovir bisect`

use std::io::Write;
use std::path::{Path, PathBuf};

use super::bisect_report::{Report, Reproduced, explained};
use super::compare::unused;
use super::progress::Progress;
use super::sides::{self, IN_MEMORY, Inputs, SideArgs};
use super::{Failure, ModelArg, Outcome, print_json, shown};
use crate::compare::{
    Allow, Backend, Blamed, Keep, Reference, Run, Search, Source, Story, Verdict, compare,
    inputs_for, reproduce, search, write_readme,
};
use crate::error::plain;
use crate::limits::Limits;
use crate::model::Model;
use crate::tensor::Tensor;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// What is believed: a model in an installed runtime (`openvino:CPU`, which takes MODEL, or
    /// `openvino:CPU:other.xml`), a saved run with inner tensors (`ovir eval --dump '*'`), or
    /// another model
    #[arg(long, value_name = "REFERENCE")]
    against: String,
    #[command(flatten)]
    side: SideArgs,
    /// Look at every layer on the reference's inputs, even where the outputs are equal, and list all
    /// that are wrong by themselves
    #[arg(long)]
    isolated: bool,
    /// Write a reproduction to this folder: the layer as a small model, its inputs as the reference
    /// has them, the outputs of both sides, and a README.md that says how to run it
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let limits = args.model.limits.begin()?;
    let tolerances = args.side.tolerances(&limits)?;
    let source = sides::source(&args.against)?;
    let model = Model::read_with(&args.model.model, &limits)?;
    model.check_supported()?;
    let saved = match &source {
        Source::Saved(path) => Some(Run::read(path, &limits)?),
        _ => None,
    };
    let inputs = args.side.inputs(&model, saved.as_ref(), &limits)?;
    let job = Job {
        args,
        limits: &limits,
        model: &model,
        inputs: &inputs,
    };
    let allow = |name: &str, a, b| tolerances.of(name, a, b);
    let found = job.search(&source, saved, &allow)?;
    unused(&tolerances)?;
    let reproduction = match (&args.output, found.search.blamed()) {
        (Some(folder), Some(blamed)) => {
            Some(job.reproduce(folder, blamed, &found, &source, &allow)?)
        }
        _ => None,
    };
    let search = &found.search;
    let report = Report {
        path: &args.model.model,
        model: &model,
        inputs: &inputs,
        isolated: args.isolated,
        search,
        reference: found.title.clone(),
        reproduction,
    };
    if args.json {
        print_json(out, "bisect/1", report.to_json())?;
    } else {
        report.print(out)?;
    }
    match search.verdict {
        Verdict::Equal => Ok(()),
        _ => Err(Failure::Different),
    }
}

/// The model and its inputs.
struct Job<'j> {
    args: &'j Args,
    limits: &'j Limits,
    model: &'j Model,
    inputs: &'j Inputs,
}

/// What was found, and against what.
struct Found {
    search: Search,
    title: String,
    /// The reference's model, if it is another one.
    other: Option<Model>,
}

impl Job<'_> {
    /// Searches against the reference.
    fn search(
        &self,
        source: &Source,
        saved: Option<Run>,
        allow: &Allow<'_>,
    ) -> Result<Found, Failure> {
        // How often the model is evaluated depends on what is found.
        let mut progress = Progress::new("layers", 0);
        let look = |reference: Reference<'_>, progress: &mut Progress| {
            search(
                self.model,
                &self.inputs.tensors,
                reference,
                allow,
                self.args.isolated,
                self.limits,
                &mut progress.observers(),
            )
        };
        match (source, saved) {
            (Source::Runtime(runtime, path), _) => {
                let path = path.as_ref().unwrap_or(&self.args.model.model);
                let mut backend = self.args.side.python(runtime, path, self.limits)?;
                let title = sides::backend_title(&backend);
                progress.tell(&plain(&title));
                let other = self.other(path)?;
                let theirs = self.inputs_of(&other)?;
                let search = look(
                    Reference::Runtime(&mut backend, &other, &theirs),
                    &mut progress,
                )?;
                let other = (*path != self.args.model.model).then_some(other);
                Ok(Found {
                    search,
                    title,
                    other,
                })
            }
            (Source::Model(path), _) => {
                let other = self.other(path)?;
                let theirs = self.inputs_of(&other)?;
                let folder = sides::folder()?;
                let keep = Keep {
                    in_memory: IN_MEMORY,
                    folder: Some(folder.path()),
                };
                let run = Run::of_model(
                    &other,
                    &theirs,
                    Some(&keep),
                    self.limits,
                    &mut progress.observers(),
                )?;
                let search = look(Reference::Saved(&run, Some(&other)), &mut progress)?;
                let title = shown(path);
                Ok(Found {
                    search,
                    title,
                    other: Some(other),
                })
            }
            (Source::Saved(path), run) => {
                let run = match run {
                    Some(run) => run,
                    None => Run::read(path, self.limits)?,
                };
                let search = look(Reference::Saved(&run, None), &mut progress)?;
                let title = shown(path);
                Ok(Found {
                    search,
                    title,
                    other: None,
                })
            }
        }
    }

    /// Writes the reproduction, and asks the runtime whether it shows the difference too.
    fn reproduce(
        &self,
        folder: &Path,
        blamed: &Blamed,
        found: &Found,
        source: &Source,
        allow: &Allow<'_>,
    ) -> Result<Reproduced, Failure> {
        let other = found.other.as_ref();
        let written = reproduce(self.model, other, blamed, folder, allow, self.limits)?;
        let mut shows = None;
        let mut named = None;
        if let Source::Runtime(runtime, _) = source {
            named = Some(format!("{}:{}", runtime.kind.package(), runtime.device));
            let mut backend = self
                .args
                .side
                .python(runtime, written.theirs(), self.limits)?;
            let answer = backend.evaluate(&written.inputs, &[], false)?;
            let own = Run::read(&folder.join("outputs.npz"), self.limits)?;
            let compared = compare(&own, &answer.run, allow, self.limits)?;
            shows = Some(!compared.is_equal());
        }
        let model = shown(&self.args.model.model);
        let reference = sides::describe(&found.title, found.search.about.as_ref());
        let story = Story {
            model: &model,
            reference: &reference,
            runtime: named.as_deref(),
            lines: &explained(blamed),
        };
        write_readme(folder, blamed, &written, &story)?;
        Ok(Reproduced {
            folder: folder.to_owned(),
            shows: written.shows(),
            runtime: shows,
        })
    }

    /// The reference's model; the own one if it is the same file.
    fn other(&self, path: &PathBuf) -> Result<Model, Failure> {
        match *path == self.args.model.model {
            true => Ok(self.model.clone()),
            false => Ok(Model::read_with(path, self.limits)?),
        }
    }

    fn inputs_of(&self, other: &Model) -> Result<Vec<(usize, Tensor)>, Failure> {
        Ok(inputs_for(self.model, other, &self.inputs.tensors)?)
    }
}
