//! The time that each layer of a model needs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::exec::{Control, Observer};
use crate::graph::Node;
use crate::ops::cost::picks;
use crate::tensor::Tensor;

/// No more events are kept.
const MOST_EVENTS: usize = 1_000_000;

/// Times layers over several evaluations.
#[derive(Debug, Default)]
pub(super) struct Profiler {
    /// By position among the layers of an evaluation; those of bodies count for the layer.
    pub(super) layers: Vec<Layer>,
    pub(super) runs: u32,
    next: usize,
    /// When the layers that are being evaluated began, outermost first.
    started: Vec<Instant>,
    /// Bytes of the first input of the layer, and of the others.
    read: [u64; 2],
    trace: Option<Trace>,
}

/// A layer of an evaluation.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) type_name: String,
    /// Element type and shape of the first output.
    pub(super) output: String,
    /// Of all evaluations together.
    pub(super) time: Duration,
    /// Bytes that one evaluation reads and writes.
    pub(super) bytes: u64,
}

/// Events of evaluations on one line of time.
#[derive(Debug)]
struct Trace {
    epoch: Instant,
    run: Instant,
    events: Vec<Event>,
    /// Whether there were more.
    cut: bool,
}

#[derive(Debug)]
struct Event {
    name: String,
    type_name: String,
    output: String,
    start: Duration,
    time: Duration,
}

impl Profiler {
    /// A profiler that keeps every event, too.
    pub(super) fn tracing() -> Self {
        let now = Instant::now();
        let trace = Trace {
            epoch: now,
            run: now,
            events: Vec::new(),
            cut: false,
        };
        Self {
            trace: Some(trace),
            ..Self::default()
        }
    }

    /// Begins an evaluation.
    pub(super) fn begin(&mut self) {
        self.next = 0;
        self.runs += 1;
        if let Some(trace) = &mut self.trace {
            trace.run = Instant::now();
        }
    }

    /// Ends an evaluation.
    pub(super) fn end(&mut self) {
        let runs = self.runs;
        if let Some(trace) = &mut self.trace {
            let name = format!("evaluation {runs}");
            trace.add(name, "evaluation".to_owned(), String::new(), trace.run);
        }
    }

    /// The time of all layers of one evaluation.
    pub(super) fn total(&self) -> Duration {
        let all: Duration = self.layers.iter().map(|layer| layer.time).sum();
        all / self.runs.max(1)
    }

    /// The events as chrome://tracing, Perfetto and speedscope read them: times are microseconds.
    pub(super) fn trace(&self) -> Option<Value> {
        let trace = self.trace.as_ref()?;
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let event = |event: &Event| {
            json!({
                "name": event.name,
                "cat": event.type_name,
                "ph": "X",
                "ts": micros(event.start),
                "dur": micros(event.time),
                "pid": 1,
                "tid": 1,
                "args": { "type": event.type_name, "output": event.output },
            })
        };
        let mut events: Vec<&Event> = trace.events.iter().collect();
        // What holds others comes first.
        events.sort_by_key(|event| (event.start, std::cmp::Reverse(event.time)));
        Some(json!({
            "traceEvents": events.into_iter().map(event).collect::<Vec<_>>(),
            "displayTimeUnit": "ms",
            "otherData": { "producer": concat!("ovir ", env!("CARGO_PKG_VERSION")) },
        }))
    }

    /// Whether there were too many events to keep.
    pub(super) fn is_cut(&self) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.cut)
    }
}

impl Trace {
    fn add(&mut self, name: String, type_name: String, output: String, started: Instant) {
        if self.events.len() >= MOST_EVENTS {
            self.cut = true;
            return;
        }
        self.events.push(Event {
            name,
            type_name,
            output,
            start: started.saturating_duration_since(self.epoch),
            time: started.elapsed(),
        });
    }
}

fn output(outputs: &[Tensor]) -> String {
    let first = outputs.first();
    first.map_or_else(String::new, |t| {
        format!("{}{}", t.element_type(), t.shape())
    })
}

fn bytes<'t>(tensors: impl IntoIterator<Item = &'t Tensor>) -> u64 {
    let sizes = tensors.into_iter().map(|t| t.byte_len() as u64);
    sizes.fold(0, u64::saturating_add)
}

/// Bytes that a layer reads, of its first input and of the others, and writes.
fn moved(node: &Node, [first, others]: [u64; 2], written: u64) -> u64 {
    let first = if picks(node) {
        first.min(written)
    } else {
        first
    };
    first.saturating_add(others).saturating_add(written)
}

impl Observer for Profiler {
    fn before(&mut self, _: &Node, inputs: &[&Tensor]) -> Control {
        if self.started.is_empty() {
            let (first, others) = inputs.split_at(inputs.len().min(1));
            self.read = [first, others].map(|inputs| bytes(inputs.iter().copied()));
        }
        self.started.push(Instant::now());
        Control::Continue
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let Some(started) = self.started.pop() else {
            return Control::Continue;
        };
        let time = started.elapsed();
        if let Some(trace) = &mut self.trace {
            let name = node.name().to_owned();
            trace.add(name, node.type_name().to_owned(), output(outputs), started);
        }
        if !self.started.is_empty() {
            return Control::Continue;
        }
        if self.next == self.layers.len() {
            self.layers.push(Layer {
                id: node.id(),
                name: node.name().to_owned(),
                type_name: node.type_name().to_owned(),
                output: output(outputs),
                time: Duration::ZERO,
                bytes: moved(node, self.read, bytes(outputs)),
            });
        }
        self.layers[self.next].time += time;
        self.next += 1;
        Control::Continue
    }
}
