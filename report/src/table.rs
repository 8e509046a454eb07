//! The table of nodes: columns as compact JSON, which the page sorts and filters by itself.

use std::collections::{BTreeMap, BTreeSet};

use gcnproof::edges::Edge;
use gcnproof::internals::certify::verdict::Verdict;
use serde_json::{Value, json};

use super::cost::step_name;
use super::explorer;
use super::explorer::attack::{Attack, Attacks, Weighing};
use super::explorer::knowledge::Knowledge;
use super::group::{Attacked, Group};
use super::landscape::{Landscape, attribute_name, class_name};
use super::row::{NodeRadius, NodeVerdict};
use super::surroundings::predictions;

/// Digits that are shown of a margin.
const DIGITS: i32 = 5;

/// A row of the table, with whatever is known.
#[derive(Clone, Copy, Default)]
struct Line<'a> {
    verdict: Option<&'a NodeVerdict>,
    radius: Option<&'a NodeRadius>,
}

/// The table of one group, as the page's script reads it; `None` if it has no nodes. `weighing` is its network, if it
/// is known.
pub fn nodes(group: &Group, landscape: Option<&Landscape>, weighing: Option<&Weighing>) -> Option<Value> {
    let mut lines: BTreeMap<u64, Line> = BTreeMap::new();
    for row in group.headline().map_or(&[][..], |verdicts| &verdicts.rows) {
        lines.entry(row.node).or_default().verdict = Some(row);
    }
    for row in group.best_radii().map_or(&[][..], |radii| &radii.rows) {
        lines.entry(row.node).or_default().radius = Some(row);
    }
    if lines.is_empty() {
        return None;
    }
    let knowledge = Knowledge::new(group);
    // What a flip does to a margin is weighed, what a changed edge or a move does is not: an edge counts together with
    // others alone.
    let attacks = Attacks::new(group, weighing.filter(|_| group.attacked == Attacked::Flips));
    let letter = group.words().global;
    let mut columns = Columns { lines: &lines, all: Vec::new() };
    let target = if group.classifies_graphs() { "graph" } else { "node" };
    columns.numbers("node", target, "ids start at 0", |node, _| Some(node as f64));
    columns.verdicts(&knowledge);
    if lines.values().any(|line| line.verdict.is_some_and(|row| row.deployed.is_some())) {
        let about = "for every execution of the network, under the budget of the verdicts";
        columns
            .choices("deployed", "as deployed", about, |line| Some(line.verdict?.deployed?.name().replace('_', "-")));
    }
    if let Some(radii) = group.best_radii() {
        let (title, about) = (format!("safe to {letter}"), format!("largest {letter} that is certified"));
        columns.numbers("certified", &title, &about, |_, line| line.radius?.certified.map(|q| q as f64));
        // Nobody has tried more: a node at the limit may withstand more flips.
        if let Some(column) = columns.all.last_mut() {
            column["cap"] = json!(radii.limit);
        }
        let (title, about) = (format!("broken at {letter}"), format!("smallest {letter} with a witness"));
        columns.numbers("attacked", &title, &about, |_, line| line.radius?.attacked.map(|q| q as f64));
    }
    let names = landscape.and_then(|landscape| landscape.graph().node_names()).filter(|_| !group.classifies_graphs());
    if let Some(names) = names {
        let texts: Vec<&str> = lines.keys().map(|node| names.get(*node as usize).map_or("", String::as_str)).collect();
        columns.all.push(json!({ "key": "name", "title": "name", "kind": "text", "values": texts }));
        columns.more(1);
    }
    let (witnesses, words) = match group.attacked.spares_attributes() {
        true => (changed_edges(group, landscape, lines.keys()), BTreeMap::new()),
        false => witnesses(&attacks, landscape, lines.keys()),
    };
    let sorted = format!("sorted by its number of {}", group.words().changes);
    columns.all.push(json!({
        "key": "attack", "title": "smallest attack known", "about": sorted, "kind": "attack",
        "values": witnesses,
    }));
    if let (Attacked::Moves, Some(column)) = (group.attacked, columns.all.last_mut()) {
        column["moved"] = json!(moved(&attacks, landscape, lines.keys()));
    }
    if let (Attacked::Both(_), Some(column)) = (group.attacked, columns.all.last_mut()) {
        column["edges"] = json!(changed_edges(group, landscape, lines.keys()));
    }
    if group.headline().is_some() {
        columns.margins(landscape);
    }
    columns.surroundings(landscape, &everywhere(group, weighing), group.classifies_graphs());
    if group.headline().is_some() {
        columns.cost();
    }
    columns.all.retain(|column| !is_empty(column));
    let rows: Vec<u64> = lines.keys().copied().collect();
    let logits = weighing.and_then(Weighing::logits);
    let explorer = explorer::model(group, landscape, logits, &knowledge, &attacks, &rows);
    Some(json!({
        "name": group.name, "about": about(group), "columns": columns.all, "words": words, "explorer": explorer,
    }))
}

/// Is nothing known in any row of a column? Attacks are listed all the same: that none is known says something.
fn is_empty(column: &Value) -> bool {
    let kind = column["kind"].as_str();
    let unknown = |value: &Value| match kind {
        Some("choice") => *value == json!(-1),
        _ => value.is_null() || *value == json!(""),
    };
    kind != Some("attack") && column["values"].as_array().is_some_and(|values| values.iter().all(unknown))
}

/// The class predicted for each node: of those without a row, the network knows it.
pub fn everywhere(group: &Group, weighing: Option<&Weighing>) -> BTreeMap<u64, u64> {
    let mut predicted = predictions(group);
    if let Some(logits) = weighing.and_then(Weighing::logits) {
        for node in 0..logits.value.len() / logits.width.max(1) {
            if let Some(class) = logits.clear_maximum(node) {
                predicted.entry(node as u64).or_insert(class as u64);
            }
        }
    }
    predicted
}

/// What the table shows, in a few words.
fn about(group: &Group) -> String {
    let letter = group.words().global;
    let verdicts = group.headline().map(|verdicts| match verdicts.global {
        Some(q) => format!("verdicts at {letter} = {q}, {}", verdicts.method.name()),
        None => format!("verdicts at a {letter} that is not known"),
    });
    let radii = group.best_radii();
    let radii = radii.map(|radii| format!("radii up to {letter} = {} by {}", radii.limit, radii.method.name()));
    let parts: Vec<String> = [Some(group.budget.clone()), verdicts, radii].into_iter().flatten().collect();
    parts.join("; ")
}

/// Flips as the script reads them: node, then three times the attribute plus 0 (removed), 1 (added) or 2 (not known).
/// A node without a known attack has 0 in the place of its list. And the names of the attributes that occur.
fn witnesses<'a>(
    attacks: &Attacks,
    landscape: Option<&Landscape>,
    nodes: impl Iterator<Item = &'a u64>,
) -> (Vec<Value>, BTreeMap<u32, String>) {
    let mut used: BTreeSet<u32> = BTreeSet::new();
    let lists = nodes
        .map(|node| {
            let Some(flips) = attacks.of(*node).map(|attack| &attack.flips[..]) else { return json!(0) };
            let mut list: Vec<u64> = Vec::with_capacity(2 * flips.len());
            let mut put = |node: u32, attribute: u32, what: u64| {
                used.insert(attribute);
                list.extend([u64::from(node), 3 * u64::from(attribute) + what]);
            };
            match landscape {
                Some(landscape) => landscape
                    .deeds(*node, flips)
                    .iter()
                    .for_each(|deed| put(deed.flip.node, deed.flip.attribute, u64::from(deed.added))),
                None => flips.iter().for_each(|flip| put(flip.node, flip.attribute, 2)),
            }
            json!(list)
        })
        .collect();
    let graph = landscape.map(Landscape::graph).filter(|graph| graph.attribute_names().is_some());
    let words = graph.map_or(BTreeMap::new(), |graph| {
        used.into_iter().map(|attribute| (attribute, attribute_name(Some(graph), attribute))).collect()
    });
    (lists, words)
}

/// From which value to which the entries of each attack are moved, one after the other; null where that is not known.
fn moved<'a>(attacks: &Attacks, landscape: Option<&Landscape>, nodes: impl Iterator<Item = &'a u64>) -> Vec<Value> {
    let list = |attack: &Attack| {
        let old = |at: usize| landscape.map(|landscape| landscape.value(&attack.flips[at]));
        let entries = (0..attack.flips.len()).flat_map(|at| [old(at), attack.values.get(at).copied()]);
        json!(entries.collect::<Vec<_>>())
    };
    nodes.map(|node| attacks.of(*node).map_or(json!(0), list)).collect()
}

/// Changed edges as the script reads them: one end, then three times the other plus 0 (removed), 1 (inserted) or 2 (not
/// known). A node without a known attack has 0.
fn changed_edges<'a>(group: &Group, landscape: Option<&Landscape>, nodes: impl Iterator<Item = &'a u64>) -> Vec<Value> {
    let known = group.witnesses();
    let change = |edge: &Edge| group.attacked.edges().map_or(2, |attack| attack.change(*edge, landscape) as u64);
    let list = |node: &u64| {
        let ends = |edge: &Edge| [u64::from(edge.0), 3 * u64::from(edge.1) + change(edge)];
        known.get(node).map_or(json!(0), |witness| json!(witness.edges().iter().flat_map(ends).collect::<Vec<_>>()))
    };
    nodes.map(list).collect()
}

/// The name of a verdict for people.
pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Robust => "robust",
        Verdict::NonRobust => "non-robust",
        Verdict::Undecided => "undecided",
    }
}

/// A number with few digits, never above it (or never below): a bound that is shown still holds.
fn rounded(x: f64, up: bool) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let unit = 10f64.powi(DIGITS - 1 - x.abs().log10().floor() as i32);
    if !unit.is_normal() {
        return x;
    }
    let scaled = if up { (x * unit).ceil() } else { (x * unit).floor() };
    // The division may round to the wrong side.
    let mut result = scaled / unit;
    while if up { result < x } else { result > x } {
        result = if up { result.next_up() } else { result.next_down() };
    }
    result
}

impl Line<'_> {
    fn label(&self) -> Option<u64> {
        self.verdict.map(|row| row.label).or(self.radius.map(|row| row.label)).flatten()
    }

    fn predicted(&self) -> Option<u64> {
        self.verdict.map(|row| row.predicted).or(self.radius.map(|row| row.predicted))
    }

    fn degree(&self) -> Option<u64> {
        self.verdict.map(|row| row.degree).or(self.radius.map(|row| row.degree))
    }

    fn reach(&self) -> Option<u64> {
        self.verdict.map(|row| row.neighbourhood).or(self.radius.map(|row| row.neighbourhood))
    }
}

/// The columns in the making.
struct Columns<'a> {
    lines: &'a BTreeMap<u64, Line<'a>>,
    all: Vec<Value>,
}

impl Columns<'_> {
    /// The verdicts where the page begins. Its script moves them with `Q`, so that all three names are there from the
    /// start.
    fn verdicts(&mut self, knowledge: &Knowledge) {
        const ORDER: [Verdict; 3] = [Verdict::NonRobust, Verdict::Robust, Verdict::Undecided];
        let verdict = |(node, line): (&u64, &Line)| match knowledge.start {
            Some(q) => Some(knowledge.verdict(*node, q)),
            None => line.verdict.map(|row| row.verdict),
        };
        let place = |verdict| ORDER.iter().position(|known| *known == verdict).map_or(-1, |at| at as i64);
        let values: Vec<i64> = self.lines.iter().map(|line| verdict(line).map_or(-1, place)).collect();
        let names = ORDER.map(verdict_name);
        self.all.push(json!({
            "key": "verdict", "title": "verdict", "about": "under the budget", "kind": "choice", "names": names, "values": values,
        }));
    }

    /// Marks the last columns as those that a page shows on request.
    fn more(&mut self, count: usize) {
        let from = self.all.len().saturating_sub(count);
        for column in &mut self.all[from..] {
            column["more"] = json!(true);
        }
    }

    fn margins(&mut self, landscape: Option<&Landscape>) {
        let low = "proved lower bound of the worst-case margin, smallest over classes";
        self.numbers("lower", "margin ≥", low, |_, line| line.verdict?.worst_lower().map(|x| rounded(x, false)));
        let high = "margin of the best attack found under the budget of the verdict, smallest over classes";
        self.numbers("upper", "margin ≤", high, |_, line| {
            let uppers = line.verdict?.margins.iter().filter_map(|margin| margin.upper);
            uppers.min_by(f64::total_cmp).map(|x| rounded(x, true))
        });
        self.choices("against", "closest class", "where that attack gets nearest", |line| {
            let known = line.verdict?.margins.iter().filter_map(|margin| Some((margin.upper?, margin.class)));
            let (_, class) = known.min_by(|x, y| x.0.total_cmp(&y.0))?;
            Some(class_name(landscape.map(Landscape::graph), class))
        });
        self.more(1);
    }

    fn surroundings(&mut self, landscape: Option<&Landscape>, predicted: &BTreeMap<u64, u64>, graphs: bool) {
        let class = |class: Option<u64>| class.map(|class| class_name(landscape.map(Landscape::graph), class));
        if self.lines.values().any(|line| line.label().is_some()) {
            self.choices("label", "label", "in the graph", |line| class(line.label()));
        }
        self.choices("predicted", "predicted", "without an attack", |line| class(line.predicted()));
        let (links, of) = if graphs { ("edges", "of the graph") } else { ("degree", "neighbours") };
        self.numbers("degree", links, of, |_, line| line.degree().map(|x| x as f64));
        let reach = if graphs { "nodes" } else { "reach" };
        self.numbers("reach", reach, "nodes its logits depend on", |_, line| line.reach().map(|x| x as f64));
        self.more(1);
        if let Some(landscape) = landscape.filter(|_| !graphs) {
            self.numbers("purity", "purity %", "neighbours predicted like it", |node, line| {
                let purity = landscape.purity(node, line.reach()?, predicted)?;
                Some((1000.0 * purity).round() / 10.0)
            });
        }
    }

    fn cost(&mut self) {
        self.choices("step", "decided by", "step of the cascade", |line| {
            line.verdict.map(|row| step_name(row.reason).to_string())
        });
        self.numbers("tree", "tree", "nodes of the search tree", |_, line| Some(line.verdict?.search_nodes as f64));
        self.numbers("ms", "ms", "milliseconds", |_, line| {
            Some((1e5 * line.verdict?.seconds).round() / 100.0).filter(|x| x.is_finite())
        });
        self.more(3);
    }

    fn numbers(&mut self, key: &str, title: &str, about: &str, of: impl Fn(u64, &Line) -> Option<f64>) {
        let short = |x: f64| if x.fract() == 0.0 && x.abs() < 1e15 { json!(x as i64) } else { json!(x) };
        let values: Vec<Value> = self
            .lines
            .iter()
            .map(|(node, line)| of(*node, line).filter(|x| x.is_finite()).map_or(Value::Null, short))
            .collect();
        self.all.push(json!({ "key": key, "title": title, "about": about, "kind": "number", "values": values }));
    }

    fn choices(&mut self, key: &str, title: &str, about: &str, of: impl Fn(&Line) -> Option<String>) {
        let texts: Vec<Option<String>> = self.lines.values().map(of).collect();
        let names: Vec<&String> = texts.iter().flatten().collect::<BTreeSet<_>>().into_iter().collect();
        let place = |text: &Option<String>| match text {
            Some(text) => names.binary_search(&text).map_or(-1, |at| at as i64),
            None => -1,
        };
        let values: Vec<i64> = texts.iter().map(place).collect();
        self.all.push(
            json!({ "key": key, "title": title, "about": about, "kind": "choice", "names": names, "values": values }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_never_promises_too_much() {
        for x in [0.123456789, -0.123456789, 1e-9, 39.1290004, -7.0, 5e-324, 1.7e308, -123456789.0, 0.1 + 0.2] {
            let (down, up) = (rounded(x, false), rounded(x, true));
            assert!(down <= x && x <= up, "{x}: {down} {up}");
            assert!((up - down).abs() <= 1e-3 * x.abs() || x.abs() < 1e-300, "{x}: {down} {up}");
        }
        assert_eq!((rounded(0.123456789, false), rounded(0.123456789, true)), (0.12345, 0.12346));
        assert_eq!(rounded(0.0, true), 0.0);
    }
}
