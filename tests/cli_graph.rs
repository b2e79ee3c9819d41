//! `ovir graph` as a user meets it: what the files hold, and that a failure leaves none behind.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::ovir;
use crate::support::project;

const MODEL: &str = "docs/guide/models/classifier.xml";
const QUANTISED: &str = "docs/guide/models/classifier-int8.xml";
const IMAGE: &str = "image=docs/guide/models/image.npy";
const LOOP: &str = "ir-samples/ops/infrastructure/loop-5/example-1.xml";

/// Draws a model into a folder of its own, and gives what was printed and what was written.
fn draw(file: &str, arguments: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(file);
    let target = ["-o", path.to_str().expect("UTF-8")];
    let output = ovir(&[&["graph"], arguments, &target[..]].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    // Nobody looks: no bars.
    assert_eq!(told, "");
    assert_eq!(names(folder.path()), [file]);
    let text = fs::read_to_string(&path).expect("written");
    (String::from_utf8(output.stdout).expect("UTF-8"), text)
}

/// The files of a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// How often a text holds another.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// A number of the summary that `--json` prints.
fn summary(printed: &str, key: &str) -> u64 {
    let document: Value = serde_json::from_str(printed).expect("JSON");
    assert_eq!(document["schema"], "ovir.graph/1");
    document[key].as_u64().expect("a number")
}

/// The class of the colour of a layer's box.
fn colour(svg: &str, layer: &str) -> String {
    let at = svg
        .find(&format!("&#10;{layer}&#10;"))
        .expect("the layer's box");
    let (_, class) = svg[at..].split_once("<rect class=\"").expect("a box");
    class[..class.find('"').expect("the end")].to_owned()
}

/// What a script in a page knows.
fn data(page: &str) -> Value {
    let (_, from) = page
        .split_once("<script type=\"application/json\"")
        .expect("the page's data");
    let (_, from) = from.split_once('>').expect("the end of a tag");
    let (text, _) = from.split_once("</script>").expect("the end of the data");
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn every_form_has_every_layer() {
    let model = fs::read_to_string(project(MODEL)).expect("a model");
    let layers = count(&model, "<layer ");
    let constants = count(&model, "type=\"Const\"");
    let (printed, svg) = draw("a.svg", &[MODEL, "--json"]);
    let boxes = summary(&printed, "boxes");
    assert_eq!(summary(&printed, "layers"), layers as u64);
    assert_eq!(summary(&printed, "constants"), constants as u64);
    assert_eq!(boxes, (layers - constants) as u64);
    let boxes = usize::try_from(boxes).expect("a few");
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(svg.ends_with("</svg>\n"), "not whole");
    assert_eq!(count(&svg, "<g class=\"n\""), boxes);
    for name in ["image", "conv1", "conv3/relu", "probabilities"] {
        assert!(svg.contains(&format!("&#10;{name}&#10;")), "{name}");
    }

    let (printed, dot) = draw("a.dot", &[MODEL]);
    assert!(
        printed.contains(&format!(": {layers} layers in {boxes} boxes, ")),
        "{printed}"
    );
    assert!(dot.starts_with("digraph ") && dot.ends_with("}\n"), "{dot}");
    assert_eq!(count(&dot, " [label=\"Convolution\\n"), 3);
    // A chain.
    assert_eq!(count(&dot, " -> "), boxes - 1);
    let (_, all) = draw("a.gv", &[MODEL, "--constants"]);
    assert_eq!(count(&all, " -> "), layers - 1);
    assert_eq!(count(&all, "[label=\"Const\\n"), constants);

    let (_, mermaid) = draw("a.mmd", &[MODEL]);
    assert!(mermaid.contains("flowchart"), "{mermaid}");
    assert_eq!(count(&mermaid, "Convolution"), 3);

    let (_, html) = draw("a.html", &[MODEL]);
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
    assert!(!html.contains("http://localhost") && !html.contains("<link "));
    let known = data(&html);
    let nodes = known["scenes"][0]["layers"].as_array().expect("layers");
    assert_eq!(nodes.len(), layers);
    assert!(nodes.iter().any(|node| node["name"] == "conv2/add"));
}

#[test]
fn bodies_and_models_with_errors_are_drawn() {
    let (printed, svg) = draw("a.svg", &[LOOP, "--json"]);
    assert_eq!(summary(&printed, "bodies"), 1);
    assert!(svg.contains(">Loop<"), "{svg}");
    let broken = "ir-samples/broken/attribute/boolean-misspelt.xml";
    let (printed, svg) = draw("a.svg", &[broken]);
    assert!(
        printed.contains("warning: the model has 1 error; `ovir check` shows them"),
        "{printed}"
    );
    assert!(svg.contains("ReduceSum"), "{svg}");
}

#[test]
fn a_part_is_drawn() {
    let near = [MODEL, "--around", "conv2", "--distance", "1", "--json"];
    let (printed, dot) = draw("a.dot", &near);
    assert_eq!(summary(&printed, "boxes"), 3);
    // These three, and the constants within them.
    let left_out = summary(&printed, "left_out");
    assert_eq!(summary(&printed, "layers") - left_out, 5);
    for label in ["MaxPool\\npool", "Convolution\\nconv2", "Add\\nconv2"] {
        assert!(dot.contains(label), "{label}: {dot}");
    }
    // By its id, too.
    let xml = fs::read_to_string(project(MODEL)).expect("a model");
    let (before, _) = xml.split_once("\" name=\"conv2\"").expect("the layer");
    let id = &before[before.rfind('"').expect("an id") + 1..];
    let (_, by_id) = draw(
        "a.dot",
        &[MODEL, "--around", id, "--distance", "1", "--json"],
    );
    assert_eq!(dot, by_id);

    let (printed, dot) = draw(
        "a.dot",
        &[MODEL, "--only", "type:Convolution", "head", "--json"],
    );
    assert_eq!(summary(&printed, "boxes"), 4);
    assert_eq!(count(&dot, "[label=\"Convolution\\n"), 3);
    assert_eq!(count(&dot, "[label=\"MatMul\\n"), 1);
    // Dashed lines lead through what is left out.
    assert_eq!(count(&dot, "style=dashed"), 3, "{dot}");
}

#[test]
fn colours_mean_what_was_asked() {
    let (_, plain) = draw("a.svg", &[MODEL]);
    let (_, types) = draw("a.svg", &[MODEL, "--color", "type"]);
    assert!(plain.contains("class=\"kmm\"") && !plain.contains("class=\"t32\""));
    assert!(types.contains("class=\"t32\"") && !types.contains("class=\"kmm\""));

    for (color, title) in [
        ("time", "time of evaluation"),
        ("range", "largest absolute value"),
    ] {
        let (printed, page) = draw("a.html", &[MODEL, "-i", IMAGE, "--color", color, "--json"]);
        let document: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(document["color"], color);
        assert_eq!(data(&page)["measured"][0], title);
    }
    // Inputs that are not given are random, the same each time.
    let range = [QUANTISED, "--color", "range"];
    let (_, svg) = draw("a.svg", &range);
    // Its range is clipped.
    assert_eq!(
        ["conv1", "conv2/fq"].map(|name| colour(&svg, name)),
        ["h7", "h1"]
    );
    assert_eq!(draw("a.svg", &range).1, svg);
}

#[test]
fn positions_beside_values_are_no_range() {
    let pooling = "ir-samples/ops/pooling/max-pool-8/example-1.xml";
    let range = ["--color", "range", "-i", "data=zeros"];
    let (_, page) = draw("a.html", &[&[pooling], &range[..]].concat());
    let page = data(&page);
    let layers = page["scenes"][0]["layers"].as_array().expect("layers");
    let range = |name: &str| {
        let layer = layers.iter().find(|layer| layer["name"] == name);
        let told = &layer.expect("a layer")["measured"][0];
        told.as_str().expect("measured").to_owned()
    };
    // Zeros of which each has its place.
    assert_eq!(range("MaxPool"), range("output"));
    assert_ne!(range("MaxPool"), range("indices"));
}

#[test]
fn errors_are_coloured_against_a_model_or_a_saved_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run.npz");
    let run = run.to_str().expect("UTF-8");
    let dump = ["eval", MODEL, "-i", IMAGE, "--print", "none"];
    let kept = ovir(&[&dump, &["--dump", "@all", "--to", run][..]].concat());
    assert_eq!(kept.status.code(), Some(0));
    let against = |other: &str| {
        let arguments = [QUANTISED, "-i", IMAGE, "--color", "error"];
        draw("a.svg", &[&arguments, &["--against", other][..]].concat()).1
    };
    let svg = against(MODEL);
    let colours = |svg: &str| {
        let names = ["pool/fq", "conv1", "conv3", "probabilities"];
        names.map(|name| colour(svg, name))
    };
    assert!(svg.contains("relative L2 error"));
    assert_eq!(colours(&svg), ["v", "h0", "h8", "h5"]);
    assert_eq!(colours(&against(run)), colours(&svg));
    let same = [MODEL, "-i", IMAGE, "--color", "error", "--against", run];
    let (_, svg) = draw("a.svg", &same);
    assert_eq!(["conv1", "conv3"].map(|name| colour(&svg, name)), ["h0"; 2]);
}

/// Arguments that fail, the exit code, and what is told.
const WRONG: &[(&[&str], i32, &str)] = &[
    (&[MODEL, "--colour", "time"], 2, "'--color"),
    (&[MODEL, "--color", "tme"], 2, "'time'"),
    (&[MODEL, "--around", "conv22"], 2, "did you mean `conv2`?"),
    (&[MODEL, "--only", "conv22"], 2, "conv22"),
    (
        &[MODEL, "--only", "conv1", "--around", "conv2"],
        2,
        "--around",
    ),
    (&[MODEL, "--distance", "2"], 2, "--around"),
    (&[MODEL, "--color", "error"], 2, "needs --against"),
    (&[MODEL, "--against", MODEL], 2, "is for --color error"),
    (&[MODEL, "-i", IMAGE], 2, "nothing is evaluated without"),
    (
        &[MODEL, "--color", "range", "-i", "imag=zeros"],
        3,
        "did you mean",
    ),
    (&["nowhere.xml"], 3, "nowhere.xml"),
    (
        &[
            "ir-samples/broken/attribute/boolean-misspelt.xml",
            "--color",
            "range",
        ],
        3,
        "`yes` is not true or false",
    ),
    (
        &[MODEL, "--color", "error", "--against", "nowhere.npz"],
        3,
        "nowhere.npz",
    ),
    (
        &[MODEL, "--color", "range", "--limit", "tensor-bytes=1000"],
        5,
        "tensor",
    ),
    (&[MODEL, "--limit", "layers=3"], 5, "layers"),
];

#[test]
fn what_fails_leaves_the_file_as_it_was() {
    for (arguments, code, hint) in WRONG {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.svg");
        fs::write(&path, "an older picture").expect("a file");
        let target = ["-o", path.to_str().expect("UTF-8")];
        let output = ovir(&[&["graph"], *arguments, &target[..]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {told}");
        assert!(told.contains(hint), "{arguments:?}: {told}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert_eq!(names(folder.path()), ["a.svg"], "{arguments:?}");
        let text = fs::read_to_string(&path).expect("a file");
        assert_eq!(text, "an older picture", "{arguments:?}");
    }
}

#[test]
fn where_nothing_can_be_written_nothing_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    fs::create_dir(at("folder.svg")).expect("a folder");
    for (name, code, hint) in [
        ("nowhere/a.svg", 3, "a.svg"),
        ("folder.svg", 3, "folder.svg"),
        ("a.png", 2, "its extension is not .svg, .html, .dot or .mmd"),
        ("a", 2, "its extension is not .svg, .html, .dot or .mmd"),
    ] {
        let output = ovir(&["graph", MODEL, "-o", &at(name)]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{name}: {told}");
        assert!(told.contains(hint), "{name}: {told}");
        assert_eq!(names(folder.path()), ["folder.svg"], "{name}");
    }
    assert_eq!(ovir(&["graph", MODEL]).status.code(), Some(2));
}
