//! How far long work has come: a bar on standard error, on a terminal alone.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::exec::{Control, Observer};
use crate::graph::{Body, Node};
use crate::model::Model;
use crate::tensor::Tensor;

/// Work that ends before shows no bar.
const PATIENCE: Duration = Duration::from_millis(700);

/// A bar that appears when work takes long, and goes when it is dropped.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
    visible: Cell<bool>,
    /// Bodies that are being evaluated.
    depth: usize,
}

impl Progress {
    /// Work of so many steps; 0 where nobody knows.
    pub(super) fn new(steps_of: &'static str, steps: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let target = ProgressDrawTarget::hidden();
            let length = (steps > 0).then_some(steps);
            let bar = ProgressBar::with_draw_target(length, target);
            // Without colours, which some do not want.
            let template = match length {
                Some(_) => "{bar:30} {pos}/{len} {prefix} {elapsed} (about {eta} left) {wide_msg}",
                None => "{spinner} {pos} {prefix} {elapsed} {wide_msg}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("█▌ "));
            }
            bar.with_prefix(steps_of)
        });
        Self {
            bar,
            started: Instant::now(),
            visible: Cell::new(false),
            depth: 0,
        }
    }

    /// The layers of one evaluation of each of these models.
    pub(super) fn of_layers<'m>(models: impl IntoIterator<Item = &'m Model>) -> Self {
        let layers = models.into_iter().map(|model| model.graph().nodes().len());
        Self::new("layers", layers.sum::<usize>() as u64)
    }

    /// The observer of an evaluation that moves the bar. None where nobody would see it: a compiled
    /// model is evaluated in another way when it is watched.
    pub(super) fn observers(&mut self) -> Vec<&mut dyn Observer> {
        match self.bar {
            Some(_) => vec![self],
            None => Vec::new(),
        }
    }

    /// One step is done.
    pub(super) fn step(&self) {
        let Some(bar) = &self.bar else { return };
        self.show(bar);
        bar.inc(1);
    }

    /// What is being done now; names of files are plain already.
    pub(super) fn tell(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
            self.show(bar);
        }
    }

    fn show(&self, bar: &ProgressBar) {
        if !self.visible.get() && self.started.elapsed() > PATIENCE {
            self.visible.set(true);
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn before(&mut self, node: &Node, _: &[&Tensor]) -> Control {
        if self.depth == 0 {
            self.tell(&crate::error::plain(node.name()));
        }
        Control::Continue
    }

    fn enter(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth += 1;
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth -= 1;
    }

    fn after(&mut self, _: &Node, _: &[Tensor]) -> Control {
        if self.depth == 0 {
            self.step();
        }
        Control::Continue
    }
}
