//! How a document names operations and tensors.

use crate::error::Kind;
use crate::graph::{Node, Operation};
use crate::op::attrs::Attr;
use crate::op::{LayerData, NoWeights, OpDef, Role, Version};
use crate::ops;

/// The head of a layer.
#[derive(Debug)]
pub(super) struct Spelling<'g> {
    pub(super) type_name: &'g str,
    pub(super) version: String,
    pub(super) attributes: Vec<(String, String)>,
}

/// Why a layer has no spelling.
#[derive(Debug)]
pub(super) enum Unspelled {
    /// The operation stands in no document.
    Operation,
    /// What it needs cannot be carried over.
    Layer(Kind, String),
}

/// The type, version and attributes of a layer. A layer of a file of another format that has no
/// operation has none: `foreign` tells.
pub(super) fn spell(node: &Node, foreign: bool) -> Result<Spelling<'_>, Unspelled> {
    match &node.operation {
        Operation::Known { def, version, .. } if def.is_read() => {
            let version = version_text(node.opset(), def, *version);
            Ok(Spelling {
                type_name: def.name,
                version: version.ok_or(Unspelled::Operation)?,
                attributes: attributes(node, def)?,
            })
        }
        Operation::Opaque {
            type_name,
            attributes,
        } if !foreign && !node.opset().is_empty() => {
            let has = |name: &str| attributes.iter().any(|(n, _)| n == name);
            if has("offset") && has("size") {
                let message = "the operation is not supported, and its attributes `offset` and \
                               `size` may mean bytes of the .bin file";
                return Err(Unspelled::Layer(Kind::Unsupported, message.to_owned()));
            }
            Ok(Spelling {
                type_name,
                version: node.opset().to_owned(),
                attributes: attributes.clone(),
            })
        }
        _ => Err(Unspelled::Operation),
    }
}

/// The layer's own version if it means the operation, as in the file; else the one that does.
fn version_text(opset: &str, def: &OpDef, version: Version) -> Option<String> {
    let means = |text: &str| {
        ops::resolve(def.name, text)
            .is_some_and(|found| found.def.name == def.name && found.version == version)
    };
    let spelled = match version {
        Version::Opset(number) => format!("opset{number}"),
        Version::Outside(list) => list.to_owned(),
    };
    let texts = [opset, &spelled];
    let text = texts
        .into_iter()
        .find(|text| !text.is_empty() && means(text));
    text.map(str::to_owned)
}

/// The attributes of the layer's version, seen to be read back as they are.
fn attributes(node: &Node, def: &OpDef) -> Result<Vec<(String, String)>, Unspelled> {
    let mut written = node.attributes();
    if node.op().is_some_and(|op| op.is_constant()) {
        return Ok(written);
    }
    let list: Vec<Attr<'_>> = written.iter().map(|(k, v)| Attr::new(k, v)).collect();
    let layer = LayerData {
        attributes: &list,
        weights: &NoWeights,
    };
    let read = def.read(&layer);
    let same = |op: &dyn crate::op::Op| {
        let read = def.attributes(op);
        let pairs = read.iter().map(|(k, v)| (*k, v.as_str()));
        pairs.eq(written.iter().map(|(k, v)| (k.as_str(), v.as_str())))
    };
    match read {
        Ok((op, unknown)) if same(&*op) => {
            // One type serves several versions, and not all have each attribute.
            let mut index = 0;
            written.retain(|_| {
                index += 1;
                !unknown.contains(&(index - 1))
            });
            Ok(written)
        }
        _ => {
            let message = "the attributes cannot be written so that they are read back the same";
            Err(Unspelled::Layer(Kind::Attribute, message.to_owned()))
        }
    }
}

/// Names as a list: separated by commas, a comma in a name behind a backslash.
pub(super) fn list(names: &[String]) -> Result<Option<String>, Unspelled> {
    let mut names: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
    // A backslash at the end of a name would take the comma behind it.
    names.sort_by_key(|name| name.ends_with('\\'));
    if names.iter().filter(|name| name.ends_with('\\')).count() > 1 {
        let message = "a list of names cannot hold two that end with a backslash";
        return Err(Unspelled::Layer(Kind::Structure, message.to_owned()));
    }
    let escaped: Vec<String> = names.iter().map(|name| name.replace(',', "\\,")).collect();
    Ok((!escaped.is_empty()).then(|| escaped.join(",")))
}

/// Whether the layer is written behind all others.
pub(super) fn is_result(node: &Node) -> bool {
    node.role() == Role::Result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::names::split;

    #[test]
    fn lists_are_read_back() {
        for names in [
            &["a", "b"][..],
            &["a,b", ",", "c"],
            &[r"a\,b", r"\", "d"],
            &[" a ", r"a\b"],
        ] {
            let names: Vec<String> = names.iter().map(|&n| n.to_owned()).collect();
            let text = list(&names).expect("a list").expect("names");
            let mut read = split(&text);
            let mut names = names.clone();
            read.sort();
            names.sort();
            assert_eq!(read, names, "{text}");
        }
        assert!(list(&["a\\".to_owned(), "b\\".to_owned()]).is_err());
        assert!(matches!(list(&[String::new()]), Ok(None)));
    }
}
