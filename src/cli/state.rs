//! The variables of a model, in and out of files.

use std::path::Path;

use super::eval::{Format, file_error, write_entries};
use super::{Failure, shown};
use crate::error::{Error, Kind, quoted};
use crate::io;
use crate::limits::Limits;
use crate::model::{InferRequest, Model};
use crate::tensor::Tensor;

/// Sets the variables that a file has entries for.
pub(super) fn read(
    request: &mut InferRequest,
    path: &Path,
    limits: &Limits,
) -> Result<(), Failure> {
    let error = |message: String| Failure::Error(Error::new(Kind::Input, message));
    let entries = io::read_all(path, limits).map_err(|e| {
        let kind = e.kind_for(Kind::Input);
        Failure::Error(Error::new(kind, e.to_string()))
    })?;
    let variables = request.model().variables();
    for (id, tensor) in entries {
        let wanted = variables.iter().find(|v| v.id == id);
        let tensor = match wanted.map(|v| v.inferred.element_type) {
            Some(ty) if ty.is_static() => io::adapt(&tensor, ty)
                .map_err(|e| error(format!("{}: {}: {e}", shown(path), quoted(&id))))?,
            _ => tensor,
        };
        request.set_variable(&id, tensor)?;
    }
    Ok(())
}

/// Refuses to keep the variables of a model that has none.
pub(super) fn expect_variables(model: &Model) -> Result<(), Failure> {
    if model.variables().is_empty() {
        let message = "the model has no variables (ReadValue) to keep";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(())
}

/// Writes what the evaluation left in the variables.
pub(super) fn write(request: &InferRequest, path: &Path) -> Result<(), Failure> {
    let variables = request.model().variables();
    let left = variables
        .iter()
        .filter_map(|v| Some((v.id.as_str(), request.variable(&v.id)?)));
    let entries: Vec<(&str, &Tensor)> = left.collect();
    match Format::of(path)? {
        Format::Npy => Err(Failure::Usage(format!(
            "variables have names, which {} cannot hold; write an .npz file",
            shown(path)
        ))),
        format => write_entries(path, format, entries).map_err(file_error),
    }
}
