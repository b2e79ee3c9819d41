//! Drawings in the language of Graphviz.

use super::Drawing;
use super::panel::{Panel, Shows, What};
use super::text::dot;

/// The whole drawing: panels as clusters, boxes as nodes.
pub(super) fn document(drawing: &Drawing<'_>) -> String {
    let mut out = String::new();
    out.push_str(&format!("digraph {} {{\n", dot(drawing.model.name())));
    out.push_str("  graph [fontname=\"Helvetica\", rankdir=TB, nodesep=0.25, ranksep=0.35];\n");
    out.push_str(
        "  node [fontname=\"Helvetica\", fontsize=10, shape=box, style=\"rounded,filled\", \
         fillcolor=\"#f1f3f5\", color=\"#7d8896\"];\n",
    );
    out.push_str(
        "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#7d8896\", arrowsize=0.6];\n",
    );
    let clusters = drawing.panels.len() > 1;
    for (index, panel) in drawing.panels.iter().enumerate() {
        if clusters {
            out.push_str(&format!(
                "  subgraph cluster_{index} {{\n  label={};\n",
                dot(&panel.title)
            ));
        }
        write_panel(&mut out, index, panel);
        if clusters {
            out.push_str("  }\n");
        }
    }
    out.push_str("}\n");
    out
}

fn write_panel(out: &mut String, index: usize, panel: &Panel) {
    for (number, vertex) in panel.vertices.iter().enumerate() {
        let more = match vertex.what {
            What::Block(_) => ", peripheries=2",
            What::Outside => ", style=\"rounded,dashed\"",
            _ if vertex.loose => ", style=\"rounded,filled,dashed\"",
            _ => "",
        };
        out.push_str(&format!(
            "  p{index}_{number} [label={}, fillcolor=\"{}\"{more}];\n",
            dot(&vertex.lines.join("\n")),
            fill(&vertex.class)
        ));
    }
    for line in &panel.wires {
        let style = if line.indirect { ", style=dashed" } else { "" };
        for to in &line.to {
            out.push_str(&format!(
                "  p{index}_{} -> p{index}_{to} [label={}{style}];\n",
                line.from,
                dot(&line.label)
            ));
        }
    }
    if panel.vertices.is_empty() && panel.shows == Shows::Graph {
        out.push_str(&format!("  p{index}_none [label=\"nothing\"];\n"));
    }
}

/// The colour of a class, as the style sheet has it for light backgrounds.
pub(super) fn fill(class: &str) -> &'static str {
    match class {
        "kio" => "#dfe5ec",
        "kmm" | "t32" => "#bcd7f5",
        "kno" | "t16" => "#cdebd8",
        "kac" | "ti8" => "#f9d2c8",
        "kar" | "ti6" => "#fbe7b8",
        "kmv" | "tbo" => "#e2dcf7",
        "ksh" => "#ebe8f2",
        "kre" | "t8f" => "#cdeaee",
        "kse" | "t64" => "#f6d3e6",
        "kqu" | "ti3" => "#e6e2cf",
        "kct" | "ti4" => "#ffd9a8",
        "kot" | "tst" => "#d9e8c4",
        "kun" => "#ff9d9d",
        "kbl" => "#e8f0fb",
        "ksg" => "#e9ebee",
        "h0" => "#f4f7d9",
        "h1" => "#fbf0b2",
        "h2" => "#fee391",
        "h3" => "#fecf66",
        "h4" => "#feb24c",
        "h5" => "#fd9a43",
        "h6" => "#f98038",
        "h7" => "#f0652f",
        "h8" => "#e34a33",
        "hn" => "#ff2d2d",
        _ => "#f1f3f5",
    }
}
