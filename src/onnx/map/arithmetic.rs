//! Add, Sub, Mul, Div.
//!
//! Before version 7 shapes are only broadcast with `broadcast`, the second to the first, at
//! `axis`. Integers are divided towards zero.

use super::{Mapped, Mapping, Operator, Result, registered, row};

const VERSIONS: &[u8] = &[1, 6, 7, 13, 14];

pub(super) const OPERATORS: &[Operator] = &[
    row("Add", VERSIONS, |m| binary(m, "Add", &[])),
    row("Div", VERSIONS, |m| {
        binary(m, "Divide", &[("m_pythondiv", "false")])
    }),
    row("Mul", VERSIONS, |m| binary(m, "Multiply", &[])),
    row("Sub", VERSIONS, |m| binary(m, "Subtract", &[])),
];

fn binary(m: &mut Mapping<'_, '_>, operation: &str, more: &[(&str, &str)]) -> Result<Mapped> {
    let inputs = m.inputs(["A", "B"])?;
    let mut rule = "numpy";
    let mut axis = String::new();
    if m.version < 7 {
        rule = if m.attributes.flag("broadcast", false)? {
            "pdpd"
        } else {
            "none"
        };
        if let Some(at) = m.attributes.int("axis")?.filter(|_| rule == "pdpd") {
            axis = at.to_string();
        } else if rule == "pdpd" {
            axis = "-1".to_owned();
        }
    }
    if m.version == 1 {
        // It allowed an old runtime to reuse memory.
        m.attributes.ints("consumed_inputs")?;
    }
    let mut attributes = vec![("auto_broadcast", rule)];
    if !axis.is_empty() {
        attributes.push(("auto_broadcast.auto_broadcast_axis", &axis));
    }
    attributes.extend_from_slice(more);
    registered(operation, "opset1", &attributes, &inputs)
}
