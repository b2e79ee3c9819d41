//! JSON Schema (draft 2020-12), as far as docs/schemas/ use it. A keyword that is not known here is
//! an error of the schema: nothing in it goes unchecked.

use serde_json::{Map, Value};

/// What is wrong with a document, each with its place; empty if the schema allows it.
pub(crate) fn validate(schema: &Value, document: &Value) -> Vec<String> {
    let mut check = Check {
        root: schema,
        found: Vec::new(),
    };
    check.value(schema, document, "$");
    check.found
}

struct Check<'s> {
    root: &'s Value,
    found: Vec<String>,
}

impl Check<'_> {
    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        let keywords = match schema {
            Value::Bool(true) => return,
            Value::Object(keywords) => keywords,
            _ => return self.complain(at, "nothing is allowed here"),
        };
        for (keyword, rule) in keywords {
            self.keyword(keyword, rule, keywords, value, at);
        }
    }

    fn keyword(
        &mut self,
        keyword: &str,
        rule: &Value,
        all: &Map<String, Value>,
        value: &Value,
        at: &str,
    ) {
        match keyword {
            "$schema" | "$id" | "$defs" | "$comment" | "title" | "description" | "examples" => {}
            "$ref" => match self.definition(rule) {
                Some(schema) => self.value(&schema, value, at),
                None => self.complain(at, &format!("the schema has no {rule}")),
            },
            "type" => {
                let names = rule.as_array().cloned().unwrap_or(vec![rule.clone()]);
                if !names.iter().any(|name| is(value, name.as_str())) {
                    self.complain(at, &format!("expected {rule}, got {value}"));
                }
            }
            "const" if rule != value => {
                self.complain(at, &format!("expected {rule}, got {value}"));
            }
            "enum" if !rule.as_array().is_some_and(|all| all.contains(value)) => {
                self.complain(at, &format!("expected one of {rule}, got {value}"));
            }
            "const" | "enum" => {}
            "minimum" | "maximum" => {
                let (Some(bound), Some(number)) = (rule.as_f64(), value.as_f64()) else {
                    return;
                };
                let wrong = if keyword == "minimum" {
                    number < bound
                } else {
                    number > bound
                };
                if wrong {
                    self.complain(at, &format!("{number} is beyond the {keyword} {bound}"));
                }
            }
            "minItems" | "maxItems" => {
                let (Some(bound), Some(items)) = (rule.as_u64(), value.as_array()) else {
                    return;
                };
                let count = items.len() as u64;
                if (keyword == "minItems") == (count < bound) && count != bound {
                    self.complain(at, &format!("{count} items are beyond {keyword} {bound}"));
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.value(rule, item, &format!("{at}[{index}]"));
                }
            }
            "properties" => {
                for (name, schema) in rule.as_object().into_iter().flatten() {
                    if let Some(field) = value.get(name) {
                        self.value(schema, field, &format!("{at}.{name}"));
                    }
                }
            }
            "required" => {
                let names = rule.as_array().into_iter().flatten();
                for name in names.filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        self.complain(at, &format!("there is no `{name}`"));
                    }
                }
            }
            "additionalProperties" => {
                let named = all.get("properties").and_then(Value::as_object);
                for (name, field) in value.as_object().into_iter().flatten() {
                    if !named.is_some_and(|named| named.contains_key(name)) {
                        self.value(rule, field, &format!("{at}.{name}"));
                    }
                }
            }
            "anyOf" | "oneOf" => {
                let ways = rule.as_array().into_iter().flatten();
                let fits = ways.filter(|way| self.fits(way, value)).count();
                if fits == 0 || keyword == "oneOf" && fits > 1 {
                    self.complain(at, &format!("{fits} ways of {keyword} fit {value}"));
                }
            }
            _ => self.complain(at, &format!("the keyword `{keyword}` is not known")),
        }
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut check = Check {
            root: self.root,
            found: Vec::new(),
        };
        check.value(schema, value, "$");
        check.found.is_empty()
    }

    /// What `#/$defs/NAME` names.
    fn definition(&self, reference: &Value) -> Option<Value> {
        let name = reference.as_str()?.strip_prefix("#/$defs/")?;
        self.root.get("$defs")?.get(name).cloned()
    }

    fn complain(&mut self, at: &str, message: &str) {
        self.found.push(format!("{at}: {message}"));
    }
}

fn is(value: &Value, name: Option<&str>) -> bool {
    match name {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}

#[test]
fn the_validator_finds_what_is_wrong() {
    use serde_json::json;
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": ["string", "null"] },
            "count": { "type": "integer", "minimum": 1, "maximum": 3 },
            "kind": { "enum": ["a", "b"] },
            "list": { "type": "array", "items": { "$ref": "#/$defs/item" }, "maxItems": 2 },
            "either": { "oneOf": [{ "type": "number" }, { "type": "integer" }] },
        },
        "required": ["name"],
        "additionalProperties": false,
        "$defs": { "item": { "const": 1 } },
    });
    let good = [
        json!({ "name": null }),
        json!({ "name": "x", "count": 1, "kind": "b", "list": [1, 1], "either": 1.5 }),
    ];
    for document in good {
        assert_eq!(validate(&schema, &document), [""; 0], "{document}");
    }
    let bad = [
        (json!([]), "$: expected \"object\""),
        (json!({}), "$: there is no `name`"),
        (
            json!({ "name": 1 }),
            "$.name: expected [\"string\",\"null\"], got 1",
        ),
        (
            json!({ "name": "", "count": 0 }),
            "$.count: 0 is beyond the minimum 1",
        ),
        (
            json!({ "name": "", "count": 4 }),
            "$.count: 4 is beyond the maximum 3",
        ),
        (
            json!({ "name": "", "count": 1.5 }),
            "$.count: expected \"integer\", got 1.5",
        ),
        (
            json!({ "name": "", "kind": "c" }),
            "$.kind: expected one of",
        ),
        (
            json!({ "name": "", "list": [1, 2] }),
            "$.list[1]: expected 1, got 2",
        ),
        (
            json!({ "name": "", "list": [1, 1, 1] }),
            "$.list: 3 items are beyond maxItems 2",
        ),
        (
            json!({ "name": "", "either": 1 }),
            "$.either: 2 ways of oneOf fit 1",
        ),
        (
            json!({ "name": "", "more": 1 }),
            "$.more: nothing is allowed here",
        ),
    ];
    for (document, expected) in bad {
        let found = validate(&schema, &document);
        assert_eq!(found.len(), 1, "{document}: {found:?}");
        assert!(found[0].starts_with(expected), "{document}: {found:?}");
    }
    let unknown = validate(&json!({ "patern": "x" }), &json!(1));
    assert_eq!(unknown, ["$: the keyword `patern` is not known"]);
}
