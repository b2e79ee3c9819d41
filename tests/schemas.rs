//! docs/schemas/ say what `--json` prints: real output of every command is held against them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::guide::words;
use crate::program::ovir;
use crate::schema::validate;
use crate::support::{files, project};

/// A command line whose output is held against docs/schemas/SCHEMA.json. Lines of `before` run
/// first. `{tmp}` is an empty folder, the same one for the lines of a row.
struct Line {
    schema: &'static str,
    before: &'static [&'static str],
    line: &'static str,
    code: i32,
}

const fn line(schema: &'static str, line: &'static str) -> Line {
    ends(schema, line, 0)
}

const fn after(before: &'static [&'static str], schema: &'static str, line: &'static str) -> Line {
    Line {
        schema,
        before,
        line,
        code: 0,
    }
}

/// One that ends with another exit code than 0.
const fn ends(schema: &'static str, line: &'static str, code: i32) -> Line {
    Line {
        schema,
        before: &[],
        line,
        code,
    }
}

const LINES: &[Line] = &[
    line(
        "eval",
        "eval ir-samples/ops/movement/gather-8/example-7.xml -i data=[1,2,3,4,5] -i indices=[3,10,-20]",
    ),
    // NaN, infinities; complex numbers; strings.
    line(
        "eval",
        "eval ir-samples/fragments/movement/scatter-elements-update-12/layer-1.xml -i 0=f32:[2,nan,inf,6] \
         -i 1=[1,0,0,-2,-1,2] -i 2=f32:[10,20,30,40,70,60] -i 3=[0]",
    ),
    line(
        "eval",
        "eval ir-samples/onnx/gather-nd-13/example-1-complex64.onnx \
         -i ir-samples/onnx/gather-nd-13/example-1-complex64.inputs.json",
    ),
    line(
        "inspect",
        "inspect ir-samples/ops/movement/gather-8/example-7.xml --layers",
    ),
    line(
        "inspect",
        "inspect ir-samples/ops/movement/gather-8/example-7.xml",
    ),
    line(
        "inspect",
        "inspect ir-samples/onnx/scatter-11/example-1.onnx --layers",
    ),
    line(
        "inspect",
        "inspect ir-samples/broken/structure/operation-not-in-opset.xml --layers",
    ),
    line(
        "inspect",
        "inspect ir-samples/fragments/movement/scatter-elements-update-12/layer-1.xml",
    ),
    ends(
        "check",
        "check ir-samples/broken/attribute/boolean-misspelt.xml",
        1,
    ),
    line(
        "check",
        "check ir-samples/ops/movement/gather-8/example-7.xml",
    ),
    line(
        "shapes",
        "shapes ir-samples/ops/reduction/reduce-sum-1/example-2.xml --shape data=?,12,10,24",
    ),
    line("shapes", "shapes ir-samples/onnx/scatter-11/example-1.onnx"),
    line(
        "bench",
        "bench ir-samples/ops/movement/gather-8/example-7.xml -n 2 -i data=[1,2,3,4,5]",
    ),
    line(
        "bench",
        "bench ir-samples/ops/movement/gather-8/example-7.xml -n 2 --evaluator",
    ),
    line(
        "profile",
        "profile ir-samples/ops/movement/gather-8/example-7.xml -n 2",
    ),
    line(
        "profile",
        "profile ir-samples/ops/condition/if-8/example-1.xml -n 1 --evaluator --trace {tmp}/trace.json",
    ),
    line(
        "memory",
        "memory ir-samples/ops/movement/gather-8/example-7.xml",
    ),
    line(
        "memory",
        "memory ir-samples/ops/infrastructure/loop-5/example-1.xml -i 0=random",
    ),
    line(
        "compare",
        "compare ir-samples/ops/movement/gather-8/example-7.xml ir-samples/ops/movement/gather-8/example-7.xml \
         -i data=[1,2,3,4,5]",
    ),
    ends(
        "compare",
        "compare docs/guide/models/classifier-int8.xml docs/guide/models/classifier.xml --per-layer",
        1,
    ),
    line(
        "bisect",
        "bisect docs/guide/models/classifier.xml --against docs/guide/models/classifier.xml",
    ),
    ends(
        "bisect",
        "bisect docs/guide/models/classifier-int8.xml --against docs/guide/models/classifier.xml -o {tmp}/out",
        1,
    ),
    line(
        "diff",
        "diff docs/guide/models/classifier.xml docs/guide/models/classifier.xml",
    ),
    ends(
        "diff",
        "diff docs/guide/models/classifier.xml docs/guide/models/classifier-int8.xml --names --rt-info",
        1,
    ),
    ends(
        "diff",
        "diff ir-samples/ops/movement/gather-8/example-7.xml ir-samples/ops/movement/gather-8/example-4.xml --names \
         --rt-info",
        1,
    ),
    ends(
        "diff",
        "diff ir-samples/ops/condition/if-8/example-1.xml ir-samples/ops/reduction/reduce-sum-1/example-2.xml",
        1,
    ),
    line(
        "extract",
        "extract docs/guide/models/classifier.xml --from conv2 --to conv2/relu -o {tmp}/part.xml --with-inputs \
         {tmp}/part.npz -i image=docs/guide/models/image.npy",
    ),
    line(
        "edit",
        "edit docs/guide/models/classifier.xml -o {tmp}/half.xml --precision f16 -i image=docs/guide/models/image.npy",
    ),
    line(
        "reduce",
        "reduce docs/guide/models/classifier.xml -o {tmp}/small -i image=docs/guide/models/image.npy \
         --check '! grep -qi softmax {}'",
    ),
    line(
        "graph",
        "graph docs/guide/models/classifier.xml -o {tmp}/classifier.svg",
    ),
    line(
        "stats",
        "stats docs/guide/models/classifier.xml -i image=docs/guide/models/image.npy",
    ),
    line(
        "stats",
        "stats docs/guide/models/classifier.xml -i image=docs/guide/models/image.npy --emulate f16",
    ),
    line(
        "snapshot",
        "snapshot record docs/guide/models/classifier.xml --trace --to {tmp}",
    ),
    after(
        &["snapshot record docs/guide/models/classifier.xml --trace --to {tmp}"],
        "snapshot",
        "snapshot test docs/guide/models/classifier.xml --to {tmp}",
    ),
    line("ops", "ops"),
    line("ops", "ops --onnx"),
];

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The schemas by name.
fn schemas() -> Vec<(String, Value)> {
    let all = files(&project("docs/schemas"), "json");
    let named = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    all.iter()
        .map(|path| (named(path).expect("a name"), read(path)))
        .collect()
}

#[test]
fn what_commands_print_is_what_the_schemas_say() {
    let schemas = schemas();
    let mut wrong = Vec::new();
    for row in LINES {
        let folder = tempfile::tempdir().expect("a folder");
        let tmp = folder.path().to_str().expect("UTF-8");
        let split = |line: &str| -> Vec<String> {
            let words = words(line).into_iter();
            words.map(|word| word.replace("{tmp}", tmp)).collect()
        };
        for before in row.before {
            let words = split(before);
            ovir(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let mut words = split(row.line);
        words.push("--json".to_owned());
        let output = ovir(&words.iter().map(String::as_str).collect::<Vec<_>>());
        if output.status.code() != Some(row.code) {
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            wrong.push(format!("{}: {}: {told}", row.line, output.status));
            continue;
        }
        let document: Value = match serde_json::from_slice(&output.stdout) {
            Ok(document) => document,
            Err(error) => {
                wrong.push(format!("{}: no JSON: {error}", row.line));
                continue;
            }
        };
        match schemas.iter().find(|(name, _)| name == row.schema) {
            Some((_, schema)) => {
                let found = validate(schema, &document);
                let found = found.into_iter().take(5);
                wrong.extend(found.map(|what| format!("{}: {what}", row.line)));
            }
            None => wrong.push(format!("there is no docs/schemas/{}.json", row.schema)),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_schema_is_used_and_every_command_has_one() {
    let names: BTreeSet<String> = schemas().into_iter().map(|(name, _)| name).collect();
    let used: BTreeSet<String> = LINES.iter().map(|row| row.schema.to_owned()).collect();
    assert_eq!(names, used, "the table LINES and the files of docs/schemas");
    let page = fs::read_to_string(project("docs/json.md")).expect("the page");
    for name in &names {
        let link = format!("(schemas/{name}.json)");
        assert!(page.contains(&link), "docs/json.md does not list {name}");
    }
    let help = ovir(&["--help"]);
    let help = String::from_utf8(help.stdout).expect("UTF-8");
    let commands = help.split("Commands:").nth(1).expect("commands");
    let commands = commands.split("\n\n").next().expect("a list");
    for line in commands.lines().filter(|line| !line.trim().is_empty()) {
        let command = line.split_whitespace().next().expect("a name");
        let help = ovir(&["help", command]);
        let json = String::from_utf8_lossy(&help.stdout).contains("--json");
        // A command with commands of its own has a schema for each that prints JSON.
        let has = |name: &String| name == command || name.starts_with(&format!("{command}-"));
        assert!(
            !json || names.iter().any(has),
            "`ovir {command} --json` has no schema"
        );
    }
}

#[test]
fn schemas_leave_nothing_open() {
    fn walk(schema: &Value, at: &str, wrong: &mut Vec<String>) {
        let Some(fields) = schema.as_object() else {
            return;
        };
        if fields.contains_key("properties") {
            if fields.get("additionalProperties") != Some(&Value::Bool(false)) {
                wrong.push(format!("{at}: additionalProperties is not false"));
            }
            if !fields.contains_key("required") {
                wrong.push(format!("{at}: nothing is required"));
            }
        }
        for (name, inner) in fields {
            match inner {
                // Names of fields or of definitions.
                Value::Object(named) if ["properties", "$defs"].contains(&name.as_str()) => {
                    for (field, schema) in named {
                        walk(schema, &format!("{at}.{field}"), wrong);
                    }
                }
                Value::Object(_) => walk(inner, at, wrong),
                Value::Array(ways) => ways.iter().for_each(|way| walk(way, at, wrong)),
                _ => {}
            }
        }
    }
    let mut wrong = Vec::new();
    for (name, schema) in schemas() {
        walk(&schema, &name, &mut wrong);
        let dialect = "https://json-schema.org/draft/2020-12/schema";
        if schema["$schema"] != dialect {
            wrong.push(format!("{name}: $schema is not {dialect}"));
        }
        // The first field names the schema.
        let id = schema["$id"].as_str().unwrap_or_default();
        let first = &schema["properties"]["schema"]["const"];
        let version = id.strip_prefix(&format!("ovir.{name}/"));
        if first != id || version.and_then(|v| v.parse::<u32>().ok()).is_none() {
            wrong.push(format!(
                "{name}: $id is not ovir.{name}/VERSION and the constant of `schema`"
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
