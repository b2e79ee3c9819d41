//! Drawings as a page: one file, nothing from elsewhere.

use super::text::{self, px, script, xml};
use super::{Color, Drawing, facts, svg};

const STYLE: &str = include_str!("page.css");
pub(super) const SCRIPT: &str = include_str!("page.js");

/// SHA-256 of `page.js` in base64: the only script that a browser runs in a page. A test computes it.
pub(super) const SCRIPT_HASH: &str = "6YCJqH8/oZe+7+7DkqdPpl4NkSEcfhXUdzQEmczXRXk=";

/// The whole drawing as a document.
pub(super) fn document(drawing: &Drawing<'_>) -> String {
    let mut panels = String::new();
    for (index, panel) in drawing.panels.iter().enumerate() {
        panels.push_str(&format!(
            "<g class=\"panel\" id=\"p{index}\" data-w=\"{}\" data-h=\"{}\">\n",
            px(panel.layout.width),
            px(panel.layout.height)
        ));
        panels.push_str(&svg::content(panel, index));
        panels.push_str("</g>\n");
    }
    let title = text::visible(drawing.model.name());
    let title = if title.is_empty() { "model" } else { &title };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; \
         form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{picture}{STYLE}</style>\n</head>\n\
         <body class=\"ovir\">\n<header>\n<nav id=\"trail\"></nav>\n\
         <label id=\"copies\" hidden>copy <select id=\"copy\"></select></label>\n\
         <div class=\"search\"><input id=\"search\" type=\"search\" autocomplete=\"off\" \
         spellcheck=\"false\" placeholder=\"search: name, type, id ( / )\" \
         aria-label=\"search layers\"><ol id=\"found\" hidden></ol></div>\n\
         <div class=\"zoom\"><button id=\"out\" title=\"zoom out (-)\">−</button>\
         <button id=\"in\" title=\"zoom in (+)\">+</button>\
         <button id=\"fit\" title=\"show all (0)\">fit</button></div>\n</header>\n\
         <main>\n<svg id=\"sheet\" xmlns=\"http://www.w3.org/2000/svg\" tabindex=\"0\" \
         aria-label=\"drawing\">\n<g id=\"view\">\n{panels}</g>\n</svg>\n\
         <aside id=\"details\"></aside>\n</main>\n<footer>{legend}</footer>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        title = xml(title),
        picture = svg::STYLE,
        legend = legend(drawing),
        data = script(&facts::data(drawing).to_string()),
    )
}

fn legend(drawing: &Drawing<'_>) -> String {
    let mut out = String::new();
    if let Color::Measured(measured) = &drawing.options.color {
        out.push_str(&format!("<span>{}:</span>", xml(measured.what.title())));
    }
    for (class, name) in drawing.legend() {
        out.push_str(&format!(
            "<span><svg width=\"12\" height=\"12\"><rect class=\"{class}\" width=\"12\" \
             height=\"12\" rx=\"3\"/></svg>{}</span>",
            xml(&name)
        ));
    }
    out.push_str("<span class=\"right\">f32 unless said</span>");
    out
}
