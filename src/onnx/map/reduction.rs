//! The reductions.
//!
//! Axes are an attribute until version 13 of ReduceSum and version 18 of the others, then an
//! input. Where they are known, the operation of the registry does it; where they are left out or
//! only known later, one of our own finds them. That one also does the extremes, which differ from
//! the registry's for no elements.

use super::{Mapped, Mapping, Operator, Result, resolve, row};
use crate::graph::Port;
use crate::onnx::ops::{COMPOSED, Composed, Inner, REDUCE, Reduce, Steps};
use crate::op::Version;
use crate::tensor::Tensor;

const VERSIONS: &[u8] = &[1, 11, 13, 18];
const EXTREMES: &[u8] = &[1, 11, 12, 13, 18, 20];
const LOGARITHMS: &[u8] = &[1, 11, 13, 18, 28];

pub(super) const OPERATORS: &[Operator] = &[
    row("ReduceL1", VERSIONS, |m| reduce(m, &L1)),
    row("ReduceL2", VERSIONS, |m| reduce(m, &L2)),
    row("ReduceLogSum", LOGARITHMS, |m| composed(m, Steps::LogSum)),
    row("ReduceLogSumExp", LOGARITHMS, |m| {
        composed(m, Steps::LogSumExp)
    }),
    row("ReduceMax", EXTREMES, |m| reduce(m, &MAX)),
    row("ReduceMean", VERSIONS, |m| reduce(m, &MEAN)),
    row("ReduceMin", EXTREMES, |m| reduce(m, &MIN)),
    row("ReduceProd", VERSIONS, |m| reduce(m, &PROD)),
    row("ReduceSum", &[1, 11, 13], |m| reduce(m, &SUM)),
    row("ReduceSumSquare", VERSIONS, |m| {
        composed(m, Steps::SumSquare)
    }),
];

/// An operation of the registry that reduces, and the one that reduces booleans.
struct Reduction {
    name: &'static str,
    opset: &'static str,
    boolean: Option<&'static str>,
    /// What no floats reduce to, if the registry says something else.
    empty: Option<f32>,
    /// The version whose axes are an input.
    axes_since: u8,
}

const fn reduction(name: &'static str, opset: &'static str) -> Reduction {
    Reduction {
        name,
        opset,
        boolean: None,
        empty: None,
        axes_since: 18,
    }
}

const L1: Reduction = reduction("ReduceL1", "opset4");
const L2: Reduction = reduction("ReduceL2", "opset4");
const MEAN: Reduction = reduction("ReduceMean", "opset1");
const PROD: Reduction = reduction("ReduceProd", "opset1");
const SUM: Reduction = Reduction {
    axes_since: 13,
    ..reduction("ReduceSum", "opset1")
};
const MAX: Reduction = Reduction {
    boolean: Some("ReduceLogicalOr"),
    empty: Some(f32::NEG_INFINITY),
    ..reduction("ReduceMax", "opset1")
};
const MIN: Reduction = Reduction {
    boolean: Some("ReduceLogicalAnd"),
    empty: Some(f32::INFINITY),
    ..reduction("ReduceMin", "opset1")
};
/// The first version of the extremes that takes booleans.
const BOOLEANS_SINCE: u8 = 20;

/// What a node says of its axes.
struct Arguments {
    inputs: Vec<Port>,
    /// There are axes for certain.
    known: bool,
    keep_dims: bool,
    noop_with_empty_axes: bool,
}

fn arguments(m: &mut Mapping<'_, '_>, axes_since: u8) -> Result<Arguments> {
    let keep_dims = m.attributes.flag("keepdims", true)?;
    if m.version < axes_since {
        let [data] = m.inputs(["data"])?;
        let axes = m.attributes.ints("axes")?.filter(|axes| !axes.is_empty());
        let mut inputs = vec![data];
        if let Some(axes) = axes {
            inputs.push(m.constant("axes", Tensor::vector(axes)));
        }
        return Ok(Arguments {
            known: inputs.len() == 2,
            inputs,
            keep_dims,
            noop_with_empty_axes: false,
        });
    }
    let ([data], [axes]) = m.inputs_and(["data"], ["axes"])?;
    let known = axes.and_then(|axes| m.known_ints(axes));
    Ok(Arguments {
        inputs: std::iter::once(data).chain(axes).collect(),
        known: known.is_some_and(|axes| !axes.is_empty()),
        keep_dims,
        noop_with_empty_axes: m.attributes.flag("noop_with_empty_axes", false)?,
    })
}

fn reduce(m: &mut Mapping<'_, '_>, reduction: &Reduction) -> Result<Mapped> {
    let arguments = arguments(m, reduction.axes_since)?;
    let boolean = reduction.boolean.filter(|_| m.version >= BOOLEANS_SINCE);
    let inner = over(&arguments, reduction, boolean, arguments.keep_dims)?;
    let version = inner.version.unwrap_or(Version::Opset(m.version));
    Ok(Mapped::new(
        inner.op.into(),
        inner.def,
        version,
        &arguments.inputs,
    ))
}

fn composed(m: &mut Mapping<'_, '_>, steps: Steps) -> Result<Mapped> {
    let arguments = arguments(m, 18)?;
    let keep = arguments.keep_dims;
    let greatest = match steps {
        Steps::LogSumExp => Some(over(&arguments, &MAX, None, true)?),
        Steps::LogSum | Steps::SumSquare => None,
    };
    let op = Composed {
        steps,
        sum: over(&arguments, &SUM, None, keep)?,
        greatest,
    };
    Ok(m.own(op, &COMPOSED, &arguments.inputs))
}

/// The reduction over the axes of a node.
fn over(
    arguments: &Arguments,
    reduction: &Reduction,
    boolean: Option<&str>,
    keep_dims: bool,
) -> Result<Inner> {
    let keep = keep_dims.to_string();
    let attributes = [("keep_dims", keep.as_str())];
    let inner = resolve(reduction.name, reduction.opset, &attributes)?;
    if arguments.known && boolean.is_none() && reduction.empty.is_none() {
        return Ok(inner);
    }
    let boolean = boolean.map(|name| resolve(name, "opset1", &attributes));
    let op = Reduce {
        inner,
        boolean: boolean.transpose()?,
        keep_dims,
        noop_with_empty_axes: arguments.noop_with_empty_axes,
        empty: reduction.empty,
    };
    Ok(Inner {
        op: Box::new(op),
        def: &REDUCE,
        version: None,
    })
}
