//! Selectors of layers: by name, by pattern, by type, by where they lie in the graph.

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobMatcher};
use regex::Regex;

use super::Failure;
use crate::graph::{Graph, Node, NodeId, Operation};
use crate::op::Role;

/// The grammar, for the long help of every command that takes selectors.
pub(super) const GRAMMAR: &str = "\
Selectors:
  NAME            the layer of this name, or that makes the tensor of this name
  encoder/*/add   a glob over layer names: *, ?, [abc], {a,b}
  re:^block[12]/  a regular expression that is found anywhere in the name
  type:Softmax    an operation, in any case; `type:Reduce*` is a glob
  @inputs, @outputs, @all
                  the Parameters, the Results, every layer
  A..B            every layer on a path from A to B, both included; `A..` and `..B` are open ends
  A~3             A, and what is at most 3 edges away from it, in either direction
  A and B are names, globs, types, `re:` or `@` themselves. Layers in bodies are meant too.
  A selector that means no layer is an error.";

/// Layers of a model: the index of the graph in [`crate::Model::graphs`], and the node.
pub(super) type Layers = BTreeSet<(usize, NodeId)>;

/// Which layers are meant; see [`GRAMMAR`].
#[derive(Debug)]
pub(super) struct Selector {
    text: String,
    pattern: Pattern,
}

#[derive(Debug)]
enum Pattern {
    One(Atom),
    /// Paths from one to the other, for every place where the text may be parted: a name may hold
    /// `..` itself.
    Between(Vec<Way>),
    Near(Atom, usize),
}

/// The two ends of paths; one that is left out is open.
type Way = (Option<Atom>, Option<Atom>);

/// A selector that says nothing about where layers lie.
#[derive(Debug)]
struct Atom {
    text: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Name,
    Glob(GlobMatcher),
    Regex(Regex),
    Type(GlobMatcher),
    Inputs,
    Outputs,
    All,
}

impl Selector {
    /// Reads a selector.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        Ok(Self {
            text: text.to_owned(),
            pattern: Pattern::parse(text)?,
        })
    }

    /// The layers that are meant. A layer's own name always means that layer, even where it looks
    /// like something else.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn layers(&self, graphs: &[Graph]) -> Result<Layers, Failure> {
        let named = named(graphs, &self.text);
        if !named.is_empty() {
            return Ok(named);
        }
        match &self.pattern {
            Pattern::One(atom) => atom.layers(graphs),
            Pattern::Near(atom, distance) => {
                let mut all = Layers::new();
                let centre = atom.layers(graphs)?;
                for (index, graph) in graphs.iter().enumerate() {
                    near(graph, index, &centre, *distance, &mut all);
                }
                Ok(all)
            }
            Pattern::Between(ways) => self.between(graphs, ways),
        }
    }

    fn between(&self, graphs: &[Graph], ways: &[Way]) -> Result<Layers, Failure> {
        let mut first_error = None;
        for (from, to) in ways {
            let side = |atom: &Option<Atom>| atom.as_ref().map(|a| a.layers(graphs)).transpose();
            let (from, to) = match (side(from), side(to)) {
                (Ok(from), Ok(to)) => (from, to),
                (Err(error), _) | (_, Err(error)) => {
                    first_error.get_or_insert(error);
                    continue;
                }
            };
            let paths = |from: Option<&Layers>, to: Option<&Layers>| {
                let mut all = Layers::new();
                for (index, graph) in graphs.iter().enumerate() {
                    between(graph, index, from, to, &mut all);
                }
                all
            };
            let all = paths(from.as_ref(), to.as_ref());
            if !all.is_empty() {
                return Ok(all);
            }
            let hint = if paths(to.as_ref(), from.as_ref()).is_empty() {
                ""
            } else {
                "; one leads the other way"
            };
            let message = format!(
                "`{}`: no path leads from the one to the other{hint}",
                self.text
            );
            first_error.get_or_insert(Failure::Usage(message));
        }
        Err(first_error.unwrap_or_else(|| Failure::Usage(format!("`{}`: no layer", self.text))))
    }
}

/// The layers that any of the selectors means.
///
/// # Errors
/// When one of them is malformed, or means none.
pub(super) fn select(graphs: &[Graph], selectors: &[String]) -> Result<Layers, Failure> {
    let mut all = Layers::new();
    for text in selectors {
        all.extend(Selector::parse(text)?.layers(graphs)?);
    }
    Ok(all)
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, Failure> {
        // Two points and a tilde mean nothing special in a regular expression.
        if text.starts_with("re:") {
            return Ok(Self::One(Atom::parse(text)?));
        }
        let parts: Vec<_> = text.match_indices("..").collect();
        if !parts.is_empty() {
            let side = |text: &str| match text {
                "" => Ok(None),
                text => Atom::parse(text).map(Some),
            };
            let way = |&(at, dots): &(usize, &str)| -> Result<Way, Failure> {
                Ok((side(&text[..at])?, side(&text[at + dots.len()..])?))
            };
            return Ok(Self::Between(
                parts.iter().map(way).collect::<Result<_, _>>()?,
            ));
        }
        if let Some((centre, distance)) = text.rsplit_once('~')
            && let Ok(distance) = distance.parse()
        {
            return Ok(Self::Near(Atom::parse(centre)?, distance));
        }
        Ok(Self::One(Atom::parse(text)?))
    }
}

impl Atom {
    fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |message: &dyn std::fmt::Display| {
            Failure::Usage(format!("selector `{text}`: {message}"))
        };
        let glob = |text: &str, any_case: bool| {
            let glob = GlobBuilder::new(text).case_insensitive(any_case).build();
            glob.map(|g| g.compile_matcher())
                .map_err(|e| wrong(e.kind()))
        };
        let kind = if let Some(pattern) = text.strip_prefix("re:") {
            // The last line says what is wrong, those before it where.
            let last = |e: regex::Error| {
                let text = e.to_string();
                wrong(
                    &text
                        .lines()
                        .last()
                        .unwrap_or_default()
                        .trim_start_matches("error: "),
                )
            };
            Kind::Regex(Regex::new(pattern).map_err(last)?)
        } else if let Some(name) = text.strip_prefix("type:") {
            Kind::Type(glob(name, true)?)
        } else if let Some(name) = text.strip_prefix('@') {
            match name {
                "inputs" => Kind::Inputs,
                "outputs" => Kind::Outputs,
                "all" => Kind::All,
                // A layer may be called so.
                _ => Kind::Name,
            }
        } else if text.contains(['*', '?', '[', '{']) {
            Kind::Glob(glob(text, false)?)
        } else {
            Kind::Name
        };
        Ok(Self {
            text: text.to_owned(),
            kind,
        })
    }

    /// The layers that are meant; an error if there is none.
    fn layers(&self, graphs: &[Graph]) -> Result<Layers, Failure> {
        let named = named(graphs, &self.text);
        if !named.is_empty() {
            return Ok(named);
        }
        let ends = |role| graphs[0].nodes().filter(move |(_, n)| n.role() == role);
        let all: Layers = match &self.kind {
            Kind::Inputs => ends(Role::Parameter).map(|(id, _)| (0, id)).collect(),
            Kind::Outputs => ends(Role::Result).map(|(id, _)| (0, id)).collect(),
            Kind::All => filter(graphs, |_| true),
            Kind::Name => filter(graphs, |node| {
                let mut names = node.outputs().iter().flat_map(|port| &port.names);
                names.any(|name| *name == self.text)
            }),
            Kind::Glob(glob) => filter(graphs, |node| glob.is_match(node.name())),
            Kind::Regex(regex) => filter(graphs, |node| regex.is_match(node.name())),
            Kind::Type(glob) => filter(graphs, |node| types(node).any(|ty| glob.is_match(ty))),
        };
        if all.is_empty() {
            return Err(Failure::Usage(self.nothing(graphs)));
        }
        Ok(all)
    }

    /// Why no layer is meant.
    fn nothing(&self, graphs: &[Graph]) -> String {
        let nodes = || graphs.iter().flat_map(|graph| graph.nodes());
        let text = &self.text;
        let (what, hint) = match &self.kind {
            Kind::Inputs | Kind::Outputs | Kind::All => ("", None),
            Kind::Type(_) => {
                let wanted = text.trim_start_matches("type:");
                let types: BTreeSet<&str> = nodes().map(|(_, node)| node.type_name()).collect();
                let hint = nearest(wanted, types.into_iter());
                ("", hint.map(|ty| format!("type:{ty}")))
            }
            Kind::Name if text.starts_with('@') => {
                let known = ["@inputs", "@outputs", "@all"];
                ("", nearest(text, known.into_iter()).map(str::to_owned))
            }
            Kind::Name | Kind::Glob(_) | Kind::Regex(_) => {
                let hint = nearest(text, nodes().map(|(_, node)| node.name()));
                let what = match &self.kind {
                    Kind::Name if text.ends_with('~') => " (a distance is `NAME~3`)",
                    _ => "",
                };
                (what, hint.map(str::to_owned))
            }
        };
        let hint = hint.map(|name| format!("; did you mean `{name}`?"));
        format!(
            "no layer matches `{text}`{what}{}",
            hint.unwrap_or_default()
        )
    }
}

/// The names of a node's operation: the file's, and the one it is evaluated as.
fn types(node: &Node) -> impl Iterator<Item = &str> {
    let own = match node.operation() {
        Operation::Known { def, .. } => Some(def.name),
        Operation::Joined { .. } | Operation::Opaque { .. } => None,
    };
    std::iter::once(node.type_name()).chain(own)
}

fn filter(graphs: &[Graph], wanted: impl Fn(&Node) -> bool) -> Layers {
    let mut all = Layers::new();
    for (index, graph) in graphs.iter().enumerate() {
        let found = graph.nodes().filter(|(_, node)| wanted(node));
        all.extend(found.map(|(id, _)| (index, id)));
    }
    all
}

fn named(graphs: &[Graph], name: &str) -> Layers {
    filter(graphs, |node| node.name() == name)
}

/// Adds what lies on paths between two sets of nodes, which are of several graphs.
fn between(
    graph: &Graph,
    index: usize,
    from: Option<&Layers>,
    to: Option<&Layers>,
    all: &mut Layers,
) {
    // Producers stand before their consumers: one pass each way is enough.
    let mut behind = vec![from.is_none(); graph.nodes().len()];
    let mut before = vec![to.is_none(); graph.nodes().len()];
    for (id, node) in graph.nodes() {
        let reached = node.inputs().iter().any(|port| behind[port.node.index()]);
        behind[id.index()] |= reached || from.is_some_and(|from| from.contains(&(index, id)));
    }
    for at in (0..before.len()).rev() {
        let id = NodeId::new(at);
        before[at] |= to.is_some_and(|to| to.contains(&(index, id)));
        if before[at] {
            for port in graph.node(id).inputs() {
                before[port.node.index()] = true;
            }
        }
    }
    let both = graph.nodes().map(|(id, _)| id);
    all.extend(
        both.filter(|id| behind[id.index()] && before[id.index()])
            .map(|id| (index, id)),
    );
}

/// Adds what is at most so many edges away from nodes of this graph. No way leads through a
/// constant: those that share one have nothing else to do with each other.
fn near(graph: &Graph, index: usize, centre: &Layers, distance: usize, all: &mut Layers) {
    let mut border: Vec<NodeId> = centre
        .iter()
        .filter(|(graph, _)| *graph == index)
        .map(|(_, id)| *id)
        .collect();
    if border.is_empty() {
        return;
    }
    let mut consumers = vec![Vec::new(); graph.nodes().len()];
    for (id, node) in graph.nodes() {
        for port in node.inputs() {
            consumers[port.node.index()].push(id);
        }
    }
    all.extend(border.iter().map(|&id| (index, id)));
    for step in 0..distance {
        let mut next = Vec::new();
        for &id in &border {
            let node = graph.node(id);
            if step > 0 && node.op().is_some_and(|op| op.is_constant()) {
                continue;
            }
            let producers = node.inputs().iter().map(|port| port.node);
            let around = producers.chain(consumers[id.index()].iter().copied());
            next.extend(around.filter(|&other| all.insert((index, other))));
        }
        if next.is_empty() {
            return;
        }
        border = next;
    }
}

/// The name most like `text`, if one is like it at all.
pub(super) fn nearest<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = text.to_lowercase();
    let scored = names.map(|name| {
        let name_case = name.to_lowercase();
        (strsim::jaro_winkler(&wanted, &name_case), name)
    });
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;
    use crate::graph::Builder;
    use crate::tensor::{ElementType, Tensor};

    /// x → a/relu → a/exp → join → y, and x → b..c → join; one constant is added to both branches.
    fn model() -> Model {
        let mut graph = Builder::new();
        let shape = "2".parse().expect("a shape");
        let x = graph.parameter("x", ElementType::F32, shape);
        let one = graph.constant("one", Tensor::vector(&[1f32]));
        let mut add = |name: &str, ty: &str, inputs: &[_]| {
            let layer = graph.add(name, ty, "opset1", &[], inputs);
            layer.expect("a layer")
        };
        let relu = add("a/relu", "Relu", &[x]);
        let exp = add("a/exp", "Exp", &[relu]);
        let sum = add("a/sum", "Add", &[exp, one]);
        let other = add("b..c", "Multiply", &[x, one]);
        let join = add("join", "Maximum", &[sum, other]);
        graph.result("y", join);
        graph.build("model").expect("a model")
    }

    fn names(model: &Model, text: &str) -> Result<String, String> {
        let told = |failure| match failure {
            Failure::Usage(message) => message,
            other => format!("{other:?}"),
        };
        let selector = Selector::parse(text).map_err(told)?;
        let layers = selector.layers(model.graphs()).map_err(told)?;
        let mut names: Vec<_> = layers
            .iter()
            .map(|&(graph, id)| model.graphs()[graph].node(id).name())
            .collect();
        names.sort_unstable();
        Ok(names.join(" "))
    }

    #[test]
    fn every_form_means_what_the_grammar_says() {
        let model = model();
        for (text, expected) in [
            ("join", "join"),
            ("a/*", "a/exp a/relu a/sum"),
            ("{join,one}", "join one"),
            ("re:^a/.*[pm]$", "a/exp a/sum"),
            ("re:e..$", "a/exp a/relu"),
            ("type:RELU", "a/relu"),
            ("type:{exp,add}", "a/exp a/sum"),
            ("@inputs", "x"),
            ("@outputs", "y"),
            ("@all", "a/exp a/relu a/sum b..c join one x y"),
            ("a/relu..join", "a/exp a/relu a/sum join"),
            ("x..join", "a/exp a/relu a/sum b..c join x"),
            ("@inputs..type:maximum", "a/exp a/relu a/sum b..c join x"),
            ("a/sum..", "a/sum join y"),
            ("..a/exp", "a/exp a/relu x"),
            // The layer itself, though it looks like a path; and a path that begins with it.
            ("b..c", "b..c"),
            ("b..c..y", "b..c join y"),
            ("join~0", "join"),
            ("join~1", "a/sum b..c join y"),
            // Not through the constant, from which b..c would be two edges away.
            ("a/sum~2", "a/exp a/relu a/sum b..c join one y"),
            ("a/exp~2", "a/exp a/relu a/sum join one x"),
            ("one~1", "a/sum b..c one"),
        ] {
            assert_eq!(names(&model, text), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_means_nothing_says_what_might_be_meant() {
        let model = model();
        for (text, expected) in [
            ("jion", "no layer matches `jion`; did you mean `join`?"),
            (
                "type:Rulu",
                "no layer matches `type:Rulu`; did you mean `type:ReLU`?",
            ),
            (
                "@input",
                "no layer matches `@input`; did you mean `@inputs`?",
            ),
            ("nothing like it", "no layer matches `nothing like it`"),
            ("zz*", "no layer matches `zz*`"),
            ("jion~2", "no layer matches `jion`; did you mean `join`?"),
            (
                "a/relv..join",
                "no layer matches `a/relv`; did you mean `a/relu`?",
            ),
            (
                "join..a/relu",
                "`join..a/relu`: no path leads from the one to the other; one leads the other way",
            ),
            ("b..c..a/exp", "no layer matches `b`"),
            ("re:(", "selector `re:(`: unclosed group"),
            ("[", "selector `[`: unclosed character class; missing ']'"),
        ] {
            assert_eq!(names(&model, text), Err(expected.to_owned()), "{text}");
        }
    }
}
