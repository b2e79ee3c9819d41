//! The time that each layer of a model needs.

use std::io::Write;
use std::time::{Duration, Instant};

use super::Outcome;
use super::bench::show;
use super::table::Table;
use crate::exec::{Control, Observer};
use crate::graph::{Body, Node};
use crate::tensor::Tensor;

/// Lines of layers.
const MOST_LAYERS: usize = 20;

/// Times layers over several evaluations.
#[derive(Debug, Default)]
pub(super) struct Profile {
    /// By position among the layers of an evaluation; those of bodies count for the layer.
    layers: Vec<Layer>,
    next: usize,
    depth: usize,
    started: Option<Instant>,
    runs: u32,
}

#[derive(Debug)]
struct Layer {
    name: String,
    type_name: String,
    output: String,
    time: Duration,
}

impl Profile {
    /// Begins an evaluation.
    pub(super) fn begin(&mut self) {
        self.next = 0;
        self.runs += 1;
    }

    pub(super) fn print(mut self, out: &mut dyn Write) -> Outcome {
        let runs = self.runs.max(1);
        let total: Duration = self.layers.iter().map(|layer| layer.time).sum();
        let share = |time: Duration| {
            let share = time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
            format!("{:.1} %", 100.0 * share)
        };
        let mut types: Vec<(&str, usize, Duration)> = Vec::new();
        for layer in &self.layers {
            match types.iter_mut().find(|(name, ..)| *name == layer.type_name) {
                Some((_, count, time)) => {
                    *count += 1;
                    *time += layer.time;
                }
                None => types.push((&layer.type_name, 1, layer.time)),
            }
        }
        types.sort_by_key(|(.., time)| std::cmp::Reverse(*time));
        let mut table = Table::new(0, &[false, true, true, true]);
        table.row(["operation", "layers", "time", "share"].map(str::to_owned));
        for &(name, count, time) in &types {
            let time = [show(time / runs), share(time)];
            table.row([name.to_owned(), count.to_string()].into_iter().chain(time));
        }
        writeln!(out)?;
        table.print(out)?;
        self.layers
            .sort_by_key(|layer| std::cmp::Reverse(layer.time));
        let mut table = Table::new(0, &[false, false, false, true, true]);
        table.row(["layer", "operation", "output", "time", "share"].map(str::to_owned));
        for layer in self.layers.iter().take(MOST_LAYERS) {
            table.row([
                layer.name.clone(),
                layer.type_name.clone(),
                layer.output.clone(),
                show(layer.time / runs),
                share(layer.time),
            ]);
        }
        writeln!(out)?;
        table.print(out)?;
        Ok(())
    }
}

impl Observer for Profile {
    fn before(&mut self, _: &Node, _: &[&Tensor]) -> Control {
        if self.depth == 0 {
            self.started = Some(Instant::now());
        }
        Control::Continue
    }

    fn enter(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth += 1;
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth -= 1;
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        if self.depth > 0 {
            return Control::Continue;
        }
        let time = self.started.map_or(Duration::ZERO, |start| start.elapsed());
        if self.next == self.layers.len() {
            self.layers.push(Layer {
                name: node.name().to_owned(),
                type_name: node.type_name().to_owned(),
                output: outputs.first().map_or_else(String::new, |t| {
                    format!("{}{}", t.element_type(), t.shape())
                }),
                time: Duration::ZERO,
            });
        }
        self.layers[self.next].time += time;
        self.next += 1;
        Control::Continue
    }
}
