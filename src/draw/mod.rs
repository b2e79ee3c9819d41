//! Pictures of models: layered drawings as SVG, as a page for a browser, as DOT and as Mermaid.
//!
//! A graph goes three ways before it is drawn. Layers that only depend on constants are drawn within
//! their consumers, and layers that compute a shape together as one (`unit`). Units are put in a row
//! (`sequence`), in which stretches that repeat are found (`repeat`); each is drawn once, in a panel
//! of its own (`panel`), and stands as one box where it belongs. Every panel is laid out (`layout`),
//! and what comes of that is written in one of four languages.

mod color;
mod dot;
mod facts;
mod html;
mod label;
mod layout;
mod mermaid;
mod panel;
mod repeat;
#[cfg(test)]
mod repeat_tests;
mod scene;
mod sequence;
mod sizes;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod unit;

use std::collections::{HashMap, VecDeque};

pub use color::{Color, Measured, Quantity};

use crate::model::Model;
use color::Scale;
use panel::{Panel, Plan, Shows, Studio, What};
use repeat::Item;
use scene::Scene;

/// Bodies that are drawn; the others are named.
const MOST_GRAPHS: usize = 200;

/// What of a model is drawn, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether blocks that repeat, and layers that compute a shape, are drawn as one.
    pub fold: bool,
    /// Whether constants are drawn as layers, in place of text at their consumers.
    pub constants: bool,
    /// For each graph of the model and each of its nodes, whether it is drawn. `None`: all are.
    pub keep: Option<Vec<Vec<bool>>>,
    /// What colours mean.
    pub color: Color,
    /// Numbers for each layer that a page shows besides: their names, and the values as in
    /// [`Measured`].
    pub facts: Vec<Measured>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fold: true,
            constants: false,
            keep: None,
            color: Color::Operation,
            facts: Vec::new(),
        }
    }
}

/// A model laid out.
///
/// ```
/// use ovir::draw::{Drawing, Options};
///
/// let model = ovir::Model::read("ir-samples/ops/movement/gather-8/example-7.xml")?;
/// let drawing = Drawing::of(&model, &Options::default());
/// assert!(drawing.svg().starts_with("<svg "));
/// # Ok::<(), ovir::Error>(())
/// ```
#[derive(Debug)]
pub struct Drawing<'m> {
    model: &'m Model,
    options: Options,
    scale: Option<Scale>,
    scenes: Vec<Scene>,
    panels: Vec<Panel>,
    /// The panels of the graphs of the model.
    roots: HashMap<usize, usize>,
}

/// What a drawing holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Layers of the model, those of bodies included.
    pub layers: usize,
    /// Boxes of the first panel.
    pub boxes: usize,
    /// Layers that only depend on constants, drawn within their consumers.
    pub constants: usize,
    /// Layers drawn as part of a shape's computation.
    pub shapes: usize,
    /// Layers that were left out by choice, and bodies' layers of which there are too many.
    pub left_out: usize,
    /// The blocks that repeat.
    pub blocks: Vec<Block>,
    /// The bodies that are drawn.
    pub bodies: usize,
}

/// A block that repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What its layers' names, or else types, have in common.
    pub title: String,
    /// How many copies there are.
    pub copies: usize,
    /// Layers of a copy, besides constants.
    pub layers: usize,
}

impl<'m> Drawing<'m> {
    /// Lays a model out.
    pub fn of(model: &'m Model, options: &Options) -> Self {
        let graphs = model.graphs().len().min(MOST_GRAPHS);
        let scenes: Vec<Scene> = (0..graphs)
            .map(|graph| Scene::of(model, graph, options))
            .filter(|scene| scene.graph == 0 || !scene.sequence.is_empty())
            .collect();
        let mut drawing = Self {
            model,
            scale: scale(options),
            options: options.clone(),
            scenes,
            panels: Vec::new(),
            roots: HashMap::new(),
        };
        drawing.draw();
        drawing
    }

    /// Draws the panels: those of the graphs, each followed by what is in it.
    fn draw(&mut self) {
        let mut plans: Vec<Plan> = Vec::new();
        let mut inner: HashMap<(usize, What), usize> = HashMap::new();
        for (index, scene) in self.scenes.iter().enumerate() {
            self.roots.insert(scene.graph, plans.len());
            let mut waiting = VecDeque::from([Plan {
                scene: index,
                shows: Shows::Graph,
                items: scene.items.clone(),
            }]);
            while let Some(plan) = waiting.pop_front() {
                let key = match plan.shows {
                    Shows::Block(repeat) => Some(What::Block(repeat)),
                    Shows::Shapes(unit) => Some(What::Unit(scene.place[unit])),
                    Shows::Graph => None,
                };
                if let Some(key) = key {
                    inner.insert((index, key), plans.len());
                }
                for item in &plan.items {
                    match item {
                        Item::Block(repeat, items) => waiting.push_back(Plan {
                            scene: index,
                            shows: Shows::Block(*repeat),
                            items: items.clone(),
                        }),
                        Item::Unit(place) => {
                            let unit = scene.sequence[*place];
                            if scene.units.units[unit].is_shapes() {
                                waiting.push_back(Plan {
                                    scene: index,
                                    shows: Shows::Shapes(unit),
                                    items: Vec::new(),
                                });
                            }
                        }
                    }
                }
                plans.push(plan);
            }
        }
        let panels = plans.iter().map(|plan| {
            let studio = Studio {
                model: self.model,
                scene: &self.scenes[plan.scene],
                options: &self.options,
                scale: self.scale.as_ref(),
            };
            studio.draw(plan, &|what| inner.get(&(plan.scene, *what)).copied())
        });
        self.panels = panels.collect();
    }

    /// The drawing as an SVG document: the panel of the model, and beside it those of blocks that
    /// repeat and of bodies.
    pub fn svg(&self) -> String {
        svg::document(self)
    }

    /// The drawing as one HTML file that needs nothing from elsewhere, with search, details of every
    /// layer, and blocks and bodies that open.
    pub fn html(&self) -> String {
        html::document(self)
    }

    /// The drawing in the language of Graphviz.
    pub fn dot(&self) -> String {
        dot::document(self)
    }

    /// The drawing in the language of Mermaid. Viewers refuse large ones, see
    /// [`Drawing::too_large_for_mermaid`].
    pub fn mermaid(&self) -> String {
        mermaid::document(self)
    }

    /// What is more than Mermaid's viewers take unless they are told to: 500 edges, 50,000 characters.
    pub fn too_large_for_mermaid(&self) -> Option<String> {
        mermaid::too_large(self)
    }

    /// What is drawn.
    pub fn summary(&self) -> Summary {
        let total = self.model.graphs().iter().map(|g| g.nodes().len()).sum();
        let mut summary = Summary {
            layers: total,
            boxes: self.panels.first().map_or(0, |panel| panel.vertices.len()),
            constants: 0,
            shapes: 0,
            left_out: 0,
            blocks: Vec::new(),
            bodies: self.scenes.iter().filter(|scene| scene.graph > 0).count(),
        };
        let mut drawn = 0;
        for scene in &self.scenes {
            let units = &scene.units.units;
            summary.constants += scene.units.hidden;
            let shapes = units.iter().filter(|unit| unit.is_shapes());
            summary.shapes += shapes.map(|unit| unit.nodes.len()).sum::<usize>();
            drawn += units.iter().map(|unit| unit.nodes.len()).sum::<usize>();
        }
        summary.left_out = total.saturating_sub(drawn + summary.constants);
        for panel in &self.panels {
            let Shows::Block(repeat) = panel.shows else {
                continue;
            };
            let scene = &self.scenes[panel.scene];
            let copy = &scene.sequence[repeat.start..repeat.start + repeat.length];
            let layers = copy.iter().map(|&unit| scene.units.units[unit].nodes.len());
            summary.blocks.push(Block {
                title: panel
                    .title
                    .split("  ×")
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
                copies: repeat.copies,
                layers: layers.sum(),
            });
        }
        summary
    }

    /// Whether a class of colours is used.
    fn uses(&self, class: &str) -> bool {
        let mut vertices = self.panels.iter().flat_map(|panel| &panel.vertices);
        vertices.any(|vertex| vertex.class == class)
    }

    /// What the colours mean that are used.
    fn legend(&self) -> Vec<color::Meaning> {
        let color = &self.options.color;
        let mut rows = color.legend(self.scale.as_ref(), |class| self.uses(class));
        for (class, name) in [("kbl", "block that repeats"), ("ksg", "computes a shape")] {
            if self.uses(class) {
                rows.push((class.to_owned(), name.to_owned()));
            }
        }
        rows
    }
}

fn scale(options: &Options) -> Option<Scale> {
    let Color::Measured(measured) = &options.color else {
        return None;
    };
    let values = measured.values.iter().flatten().flatten().copied();
    Some(Scale::of(measured.what, values))
}
