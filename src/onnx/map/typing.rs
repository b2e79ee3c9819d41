//! Cast.

use super::{Mapped, Mapping, Operator, Refusal, Result, resolve, row};
use crate::onnx::ops::{CAST, Cast, RoundMode};
use crate::onnx::types;
use crate::tensor::ElementType;

pub(super) const OPERATORS: &[Operator] =
    &[row("Cast", &[1, 6, 9, 13, 19, 21, 23, 24, 25, 28], cast)];

fn cast(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let inputs = m.inputs(["input"])?;
    let missing = || Refusal::attribute("attribute `to` is missing");
    let number = if m.version == 1 {
        let name = m.attributes.text("to")?.ok_or_else(missing)?;
        let wrong = || {
            let name = crate::error::plain(name);
            Refusal::attribute(format!(
                "attribute `to` is `{name}`, expected a type such as FLOAT"
            ))
        };
        types::number(name).ok_or_else(wrong)?
    } else {
        let number = m.attributes.int("to")?.ok_or_else(missing)?;
        i32::try_from(number).unwrap_or(i32::MAX)
    };
    let to = types::element_type(number)
        .map_err(|name| Refusal::unsupported(format!("a cast to {name} is not supported")))?;
    let saturate = m.version < 19 || m.attributes.flag("saturate", true)?;
    let round_mode = match m.version {
        24.. => m.attributes.text("round_mode")?.unwrap_or("up"),
        _ => "up",
    };
    let round_mode = match round_mode {
        "up" => RoundMode::Up,
        "down" => RoundMode::Down,
        "nearest" => RoundMode::Nearest,
        other => {
            let other = crate::error::plain(other);
            return Err(Refusal::attribute(format!(
                "attribute `round_mode` is `{other}`, expected one of up, down, nearest"
            )));
        }
    };
    // Numbers never reach this conversion on their way to a string.
    let converted = match to {
        ElementType::String => ElementType::F64,
        to => to,
    };
    let attributes = [("destination_type", converted.name())];
    let op = Cast {
        to,
        saturate,
        round_mode,
        inner: resolve("Convert", "opset1", &attributes)?,
    };
    Ok(m.own(op, &CAST, &inputs))
}
