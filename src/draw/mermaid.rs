//! Drawings in the language of Mermaid, which many sites show in their documents.

use std::collections::BTreeSet;

use super::Drawing;
use super::dot::fill;
use super::panel::{Panel, What};
use super::text::{count, mermaid, visible};

/// What viewers take by default (`maxEdges`, `maxTextSize`).
const MOST_EDGES: usize = 500;
const MOST_TEXT: usize = 50_000;

/// The whole drawing as a flowchart: panels as subgraphs.
pub(super) fn document(drawing: &Drawing<'_>) -> String {
    let mut out = String::from("flowchart TB\n");
    let name = visible(drawing.model.name());
    // A comment ends with its line; `%%{` would be a directive.
    let name = name.replace(['{', '}'], "");
    out.push_str(&format!("  %% {name}\n"));
    let subgraphs = drawing.panels.len() > 1;
    for (index, panel) in drawing.panels.iter().enumerate() {
        if subgraphs {
            out.push_str(&format!(
                "  subgraph s{index} [{}]\n",
                mermaid(&panel.title)
            ));
        }
        write_panel(&mut out, index, panel);
        if subgraphs {
            out.push_str("  end\n");
        }
    }
    let vertices = drawing.panels.iter().flat_map(|panel| &panel.vertices);
    let classes: BTreeSet<&str> = vertices.map(|vertex| &*vertex.class).collect();
    for class in classes {
        out.push_str(&format!(
            "  classDef {class} fill:{},stroke:#7d8896,color:#1d2733\n",
            fill(class)
        ));
    }
    out
}

/// What is more than viewers take.
pub(super) fn too_large(drawing: &Drawing<'_>) -> Option<String> {
    let ends = drawing.panels.iter().flat_map(|panel| &panel.wires);
    let edges: usize = ends.map(|line| line.to.len()).sum();
    let text = document(drawing).chars().count();
    let mut problems = Vec::new();
    if edges > MOST_EDGES {
        problems.push(count(edges, "edge"));
    }
    if text > MOST_TEXT {
        problems.push(count(text, "character"));
    }
    (!problems.is_empty()).then(|| problems.join(" and "))
}

fn write_panel(out: &mut String, index: usize, panel: &Panel) {
    for (number, vertex) in panel.vertices.iter().enumerate() {
        let text = mermaid(&vertex.lines.join("\n"));
        let (open, close) = match vertex.what {
            What::Block(_) => ("[[", "]]"),
            What::Outside => ("([", "])"),
            _ => ("[", "]"),
        };
        out.push_str(&format!(
            "  p{index}_{number}{open}{text}{close}:::{}\n",
            vertex.class
        ));
    }
    for line in &panel.wires {
        let arrow = if line.indirect { "-.->" } else { "-->" };
        let label = match &*line.label {
            "" => String::new(),
            label => format!("|{}|", mermaid(label)),
        };
        for to in &line.to {
            out.push_str(&format!(
                "  p{index}_{} {arrow}{label} p{index}_{to}\n",
                line.from
            ));
        }
    }
}
