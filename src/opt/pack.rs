//! Gives operations their weights in the order that suits the machine.

use std::sync::Arc;

use super::draft::Draft;
use crate::graph::Port;
use crate::op::Prepared;

/// Prepares each operation whose constant inputs can go into it.
pub(super) fn pack(draft: &mut Draft) {
    for index in 0..draft.len() {
        let prepared = draft.computes(index).and_then(|op| {
            let inputs = draft.inputs(index)?;
            let known = inputs.iter().any(|input| input.value.is_some());
            let typed = inputs.iter().all(|input| input.element_type.is_static());
            (known && typed).then(|| op.prepare(&inputs))?
        });
        if let Some(prepared) = prepared {
            prepare(draft, index, prepared);
        }
    }
}

/// Puts a prepared operation in place of the one it comes from.
pub(super) fn prepare(draft: &mut Draft, index: usize, prepared: Prepared) {
    let node = draft.node(index);
    let inputs: Vec<Port> = prepared.inputs.iter().map(|&i| node.inputs[i]).collect();
    let name = node.type_name().to_owned();
    draft.set(index, Arc::from(prepared.op), name, inputs);
}
