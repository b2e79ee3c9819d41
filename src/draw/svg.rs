//! Drawings as SVG.

use super::color::Meaning;
use super::layout::Route;
use super::panel::{Panel, Shows, Vertex, What};
use super::sizes::{LINE_SIZE, SHEET, baselines};
use super::text::{self, px, xml};
use super::{Color, Drawing};

/// Colours and fonts, of documents and of pages.
pub(super) const STYLE: &str = include_str!("picture.css");

/// Around everything.
const MARGIN: f64 = 24.0;
/// Between panels.
const PANEL_GAP: f64 = 48.0;
/// The height of a panel's title.
const TITLE: f64 = 30.0;
/// Half the width of an arrow's head, and its length.
const ARROW: (f64, f64) = (3.5, 7.0);
/// The font size of the text beside wires.
const LABEL_SIZE: f64 = 9.5;

/// The whole drawing as a document.
pub(super) fn document(drawing: &Drawing<'_>) -> String {
    let mut body = String::new();
    let legend = legend(drawing);
    let mut width = 2.0 * MARGIN + legend.0;
    let top = MARGIN + legend.1;
    body.push_str(&legend.2);
    let mut bottom = top;
    let mut columns = Columns::new(drawing, top);
    for (index, panel) in drawing.panels.iter().enumerate() {
        // What computes a shape is told by its box.
        if matches!(panel.shows, Shows::Shapes(_)) {
            continue;
        }
        let (x, y) = columns.place(panel);
        body.push_str(&format!(
            "<g transform=\"translate({} {})\">\n",
            px(x),
            px(y)
        ));
        body.push_str(&format!(
            "<text class=\"title\" x=\"0\" y=\"-12\">{}</text>\n",
            xml(&panel.title)
        ));
        body.push_str(&content(panel, index));
        body.push_str("</g>\n");
        width = width.max(x + extent(panel) + MARGIN);
        bottom = bottom.max(y + panel.layout.height + MARGIN);
    }
    let (width, height) = (width.ceil(), bottom.ceil());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ovir\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"back\" width=\"{w}\" height=\"{h}\"/>\n{body}</svg>\n",
        xml(&text::visible(drawing.model.name())),
        w = px(width),
        h = px(height),
    )
}

/// The width of a panel with its title.
fn extent(panel: &Panel) -> f64 {
    panel
        .layout
        .width
        .max(text::width(&panel.title, 15.0, true))
}

/// Panels side by side: that of the model, then the others below each other as far as it reaches.
struct Columns {
    top: f64,
    height: f64,
    x: f64,
    y: f64,
    column: f64,
}

impl Columns {
    fn new(drawing: &Drawing<'_>, top: f64) -> Self {
        let tallest = drawing
            .panels
            .iter()
            .filter(|panel| !matches!(panel.shows, Shows::Shapes(_)))
            .map(|panel| panel.layout.height)
            .fold(0.0, f64::max);
        Self {
            top: top + TITLE,
            height: tallest,
            x: MARGIN,
            y: top + TITLE,
            column: 0.0,
        }
    }

    fn place(&mut self, panel: &Panel) -> (f64, f64) {
        let end = self.y + panel.layout.height;
        if self.column > 0.0 && end > self.top + self.height {
            self.x += self.column + PANEL_GAP;
            self.y = self.top;
            self.column = 0.0;
        }
        let place = (self.x, self.y);
        self.y += panel.layout.height + PANEL_GAP + TITLE;
        self.column = self.column.max(extent(panel));
        place
    }
}

/// What the colours mean, with its width and height.
fn legend(drawing: &Drawing<'_>) -> (f64, f64, String) {
    /// A row is not longer than this.
    const WIDEST: f64 = 900.0;
    let mut out = String::from("<g class=\"legend\">\n");
    let (mut x, mut y, mut widest) = (MARGIN, MARGIN, 0f64);
    let mut entries: Vec<Meaning> = Vec::new();
    if let Color::Measured(measured) = &drawing.options.color {
        entries.push((String::new(), format!("{}:", measured.what.title())));
    }
    entries.extend(drawing.legend());
    for (class, name) in entries {
        let square = if class.is_empty() { 0.0 } else { 18.0 };
        let width = square + text::width(&name, LINE_SIZE, false) + 18.0;
        if x + width > WIDEST && x > MARGIN {
            x = MARGIN;
            y += 20.0;
        }
        if square > 0.0 {
            out.push_str(&format!(
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"3\"/>",
                px(x),
                px(y)
            ));
        }
        out.push_str(&format!(
            "<text x=\"{}\" y=\"{}\">{}</text>\n",
            px(x + square),
            px(y + 10.0),
            xml(&name)
        ));
        x += width;
        widest = widest.max(x - MARGIN);
    }
    out.push_str("</g>\n");
    (widest, y - MARGIN + 28.0, out)
}

/// The wires and boxes of a panel. Boxes carry their number, for the script of a page.
pub(super) fn content(panel: &Panel, index: usize) -> String {
    let mut out = String::new();
    out.push_str("<g class=\"wires\">\n");
    let mut labels = Labels::default();
    for (line, route) in panel.wires.iter().zip(&panel.layout.routes) {
        let mut class = String::from("w");
        if line.indirect {
            class.push_str(" far");
        }
        if line.faint {
            class.push_str(" faint");
        }
        let to: Vec<String> = line.to.iter().map(ToString::to_string).collect();
        out.push_str(&format!(
            "<g class=\"{class}\" data-f=\"{}\" data-t=\"{}\"><path d=\"{}\"/>",
            line.from,
            to.join(" "),
            path(route)
        ));
        out.push_str(&format!("<path class=\"head\" d=\"{}\"/>", heads(route)));
        if let Some((x, y, anchor)) = labels.place(route, &line.label) {
            out.push_str(&format!(
                "<text{anchor} x=\"{}\" y=\"{}\">{}</text>",
                px(x),
                px(y),
                xml(&line.label)
            ));
        }
        out.push_str("</g>\n");
    }
    out.push_str("</g>\n<g class=\"boxes\">\n");
    for (number, vertex) in panel.vertices.iter().enumerate() {
        out.push_str(&draw_box(panel, index, number, vertex));
    }
    out.push_str("</g>\n");
    out
}

fn draw_box(panel: &Panel, index: usize, number: usize, vertex: &Vertex) -> String {
    let rect = panel.layout.boxes[number];
    let mut out = format!(
        "<g class=\"n{}{}\" data-v=\"{index}.{number}\"><title>{}</title>",
        if vertex.opens.is_some() { " opens" } else { "" },
        if vertex.loose { " loose" } else { "" },
        xml(&vertex.tip)
    );
    let mut sheet = |x: f64, y: f64, shrink: f64| {
        out.push_str(&format!(
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
            vertex.class,
            px(x),
            px(y),
            px(rect.width - shrink),
            px(rect.height - shrink),
            if vertex.what == What::Outside { 10 } else { 5 }
        ));
    };
    let mut shrink = 0.0;
    if matches!(vertex.what, What::Block(_)) {
        shrink = 2.0 * SHEET;
        sheet(rect.x + shrink, rect.y + shrink, shrink);
        sheet(rect.x + SHEET, rect.y + SHEET, shrink);
    }
    sheet(rect.x, rect.y, shrink);
    let middle = rect.x + (rect.width - shrink) / 2.0;
    let lines = baselines(rect.y, rect.height - shrink, vertex.lines.len());
    for (position, (line, y)) in vertex.lines.iter().zip(lines).enumerate() {
        let title = position == 0 && vertex.what != What::Outside;
        out.push_str(&format!(
            "<text{} x=\"{}\" y=\"{}\">{}</text>",
            if title { " class=\"b\"" } else { "" },
            px(middle),
            px(y),
            xml(line)
        ));
    }
    out.push_str("</g>\n");
    out
}

/// The line of a wire: curves in the gaps between ranks, straight lines elsewhere.
fn path(route: &Route) -> String {
    let mut out = String::new();
    let mut pen = None;
    for &(from, to) in &route.pieces {
        if pen != Some(from) {
            out.push_str(&format!("M{} {}", px(from.x), px(from.y)));
        }
        // The line ends where the head of the arrow begins.
        let end = route.ends.contains(&to);
        let y = if end { to.y - ARROW.1 + 1.0 } else { to.y };
        if (from.x - to.x).abs() < 0.05 {
            out.push_str(&format!("V{}", px(y)));
        } else {
            let middle = (from.y + y) / 2.0;
            out.push_str(&format!(
                "C{} {m} {x} {m} {x} {}",
                px(from.x),
                px(y),
                m = px(middle),
                x = px(to.x)
            ));
        }
        pen = (!end).then_some(to);
    }
    // Ends that are too far away: a short piece at both sides.
    for (end, cut) in route.ends.iter().zip(&route.cut) {
        if *cut {
            out.push_str(&format!("M{} {}v-8", px(end.x), px(end.y - ARROW.1 + 1.0)));
            out.push_str(&format!("M{} {}v8", px(route.start.x), px(route.start.y)));
        }
    }
    out
}

fn heads(route: &Route) -> String {
    let head = |end: &super::layout::Point| {
        let (half, length) = ARROW;
        let (x, y) = (px(end.x), px(end.y));
        format!("M{x} {y}l-{half}-{length}h{}z", half * 2.0)
    };
    route.ends.iter().map(head).collect()
}

/// The texts beside wires, so that none covers another.
#[derive(Default)]
struct Labels {
    /// By line: the parts that are taken.
    taken: std::collections::HashMap<i64, Vec<(f64, f64)>>,
}

impl Labels {
    /// Where the text of a wire stands, if there is room, and what else its tag says.
    fn place(&mut self, route: &Route, label: &str) -> Option<(f64, f64, &'static str)> {
        if label.is_empty() || route.cut.iter().all(|cut| *cut) {
            return None;
        }
        let width = text::width(label, LABEL_SIZE, false) + 8.0;
        let (x, y) = (route.start.x, route.edge + 12.0);
        #[allow(clippy::cast_possible_truncation)]
        let line = self.taken.entry(y as i64).or_default();
        let free = |low: f64, high: f64| line.iter().all(|&(a, b)| high <= a || low >= b);
        let (right, left) = route.room;
        if right >= width && free(x, x + width) {
            line.push((x, x + width));
            return Some((x + 5.0, y, ""));
        }
        if left >= width && x >= width && free(x - width, x) {
            line.push((x - width, x));
            return Some((x - 5.0, y, " class=\"e\""));
        }
        None
    }
}
