//! Figure 1: the share of nodes robust, non-robust and undecided against `Q`.

use std::collections::BTreeMap;

use gcnproof::Words;
use gcnproof::internals::certify::deployment::DeployedVerdict;
use gcnproof::internals::certify::verdict::Verdict;

use super::group::{Group, Method};
use super::landscape::{Landscape, words_on};
use super::mean::Mean;
use super::origin::format_of;
use super::published::{self, Published};
use super::row::NodeVerdict;
use super::sheet::{Sheet, percent, slug};
use crate::chart::axis::{Axis, Scale};
use crate::chart::figure::{Figure, Numbers, number};
use crate::chart::palette::Ink;
use crate::chart::plot::{Dash, Plot, Shape, Stack};

/// The shares at one `Q`, in percent of the nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// `Q`.
    pub global: u64,
    /// Certified robust.
    pub robust: f64,
    /// Without a witness of at most `Q` flips.
    pub unbroken: f64,
}

/// The shares by one method.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// By what means nodes were certified.
    pub method: Method,
    /// By rising `Q`.
    pub shares: Vec<Share>,
    /// The mean over the nodes of the largest certified `Q`, if radii are known.
    pub mean_radius: Option<Mean>,
}

/// The curves of a group, the weakest method first. What a weaker method certifies, a stronger one does too.
pub fn curves(group: &Group) -> Vec<Curve> {
    if group.radii.is_empty() { from_verdicts(group) } else { from_radii(group) }
}

fn from_radii(group: &Group) -> Vec<Curve> {
    let mut attacked: BTreeMap<u64, u64> = BTreeMap::new();
    let witnesses = group.verdicts.iter().flat_map(|verdicts| &verdicts.rows);
    let witnesses = witnesses.filter(|row| row.verdict == Verdict::NonRobust).map(|row| (row.node, row.witness.cost()));
    let radii = group.radii.iter().flat_map(|radii| &radii.rows);
    for (node, q) in radii.filter_map(|row| Some((row.node, row.attacked?))).chain(witnesses) {
        let least = attacked.entry(node).or_insert(q);
        *least = q.min(*least);
    }
    let mut certified: BTreeMap<u64, u64> = BTreeMap::new();
    let mut curves = Vec::new();
    for radii in &group.radii {
        for row in &radii.rows {
            if let Some(q) = row.certified {
                let most = certified.entry(row.node).or_insert(q);
                *most = q.max(*most);
            }
        }
        let nodes: Vec<u64> = radii.rows.iter().map(|row| row.node).collect();
        let share = |global: u64| {
            let robust = nodes.iter().filter(|node| certified.get(node).is_some_and(|&q| q >= global)).count();
            let broken = nodes.iter().filter(|node| attacked.get(node).is_some_and(|&q| q <= global)).count();
            let unbroken = percent(nodes.len() - broken, nodes.len());
            Share { global, robust: percent(robust, nodes.len()), unbroken }
        };
        let largest: Vec<u64> = nodes.iter().map(|node| certified.get(node).copied().unwrap_or(0)).collect();
        let mean_radius = Some(Mean::new(&largest, radii.limit));
        curves.push(Curve { method: radii.method, shares: (0..=radii.limit).map(share).collect(), mean_radius });
    }
    curves
}

fn from_verdicts(group: &Group) -> Vec<Curve> {
    let mut curves: BTreeMap<Method, BTreeMap<u64, Share>> = BTreeMap::new();
    // Shares of different nodes make no curve: runs that are not finished are left out of it.
    let most = group.verdicts.iter().map(|verdicts| verdicts.rows.len()).max().unwrap_or(0);
    for verdicts in &group.verdicts {
        let Some(global) = verdicts.global.filter(|_| verdicts.rows.len() == most) else { continue };
        let rows = &verdicts.rows;
        let count =
            |which: &dyn Fn(&NodeVerdict) -> bool| percent(rows.iter().filter(|row| which(row)).count(), rows.len());
        let unbroken = count(&|row| row.verdict != Verdict::NonRobust);
        let mut put = |method: Method, robust: f64| {
            curves.entry(method).or_default().entry(global).or_insert(Share { global, robust, unbroken });
        };
        put(verdicts.method, count(&|row| row.verdict == Verdict::Robust));
        if rows.iter().all(|row| row.paper_certifies.is_some()) {
            put(Method::Paper, count(&|row| row.paper_certifies == Some(true)));
        }
        if rows.iter().all(|row| row.anchored_certifies.is_some()) {
            put(Method::Anchored, count(&|row| row.anchored_certifies == Some(true)));
        }
    }
    let curve = |(method, shares): (Method, BTreeMap<u64, Share>)| Curve {
        method,
        shares: shares.into_values().collect(),
        mean_radius: None,
    };
    curves.into_iter().map(curve).collect()
}

/// What all methods together know at each `Q`.
pub fn frontier(curves: &[Curve]) -> Vec<Share> {
    let mut frontier: BTreeMap<u64, Share> = BTreeMap::new();
    for share in curves.iter().flat_map(|curve| &curve.shares) {
        let known = frontier.entry(share.global).or_insert(*share);
        known.robust = known.robust.max(share.robust);
        known.unbroken = known.unbroken.min(share.unbroken);
    }
    frontier.into_values().collect()
}

fn look(method: Method) -> (Ink, Dash, f64) {
    match method {
        Method::Paper => (Ink::Purple, Dash::Mixed, 2.0),
        Method::Anchored => (Ink::Sky, Dash::Dotted, 2.0),
        Method::Bounds => (Ink::Blue, Dash::Solid, 3.4),
        Method::Optimal => (Ink::Green, Dash::Mixed, 2.0),
        // Thin and on top: where bounds and search agree, both are seen.
        Method::Exact => (Ink::Text, Dash::Solid, 1.3),
    }
}

/// The axis of global budgets.
pub fn budgets(words: &Words, most: u64) -> Axis {
    Axis::whole(&format!("{}: {} in all", words.global, words.changes), most)
}

/// Figure 1 of each group, with one axis for all of them.
pub fn shares(groups: &[Group], landscape: Option<&Landscape>) -> Vec<Sheet> {
    let last = |group: &Group| curves(group).iter().flat_map(|curve| &curve.shares).map(|share| share.global).max();
    let most = groups.iter().filter_map(last).max().unwrap_or(1);
    groups.iter().map(|group| shares_of(group, landscape, most)).collect()
}

fn shares_of(group: &Group, landscape: Option<&Landscape>, most: u64) -> Sheet {
    let words = &words_on(group.words(), landscape);
    let letter = words.global;
    let [_, targets] = group.targets();
    let title = format!("Robust, non-robust and undecided {targets} against {letter}: {}", group.name);
    let curves = curves(group);
    let known = frontier(&curves);
    if known.is_empty() {
        let why = format!(
            "No results with a known {letter}: verdicts of `certify` or radii of `radius`, with their .run.json, are needed."
        );
        return Sheet::missing(1, &title, &why);
    }
    let mut numbers = Numbers::new(&["model", "method", letter, "certified_percent", "not_attacked_percent"]);
    for curve in &curves {
        for share in &curve.shares {
            numbers.push([
                group.name.clone(),
                curve.method.name().to_string(),
                share.global.to_string(),
                number(share.robust),
                number(share.unbroken),
            ]);
        }
    }
    let single = curves.iter().all(|curve| curve.shares.len() < 2);
    let published = published::find(landscape, group).filter(|_| !single);
    let plot = if single { bars(&curves, letter, group) } else { band(&curves, &known, budgets(words, most), targets) };
    let mut caption = format!("{} Budget: {}.", headline(&curves, letter), group.budget);
    caption.push_str(&as_deployed(group));
    let mut plot = plot;
    if let Some(published) = &published {
        caption.push(' ');
        caption.push_str(&beside(&mut plot, &mut numbers, group, &curves, published));
    }
    let name = format!("fig1_shares_{}", slug(&group.name));
    let bars = if let Scale::Named(names) = &plot.y.scale { names.len() } else { 0 };
    let height = if single { 110.0 + 40.0 * bars as f64 } else { 400.0 };
    Figure { number: 1, name, title, caption, plots: vec![plot], columns: 1, height, numbers, made: Vec::new() }.into()
}

/// One sentence with the numbers of each method at the largest `Q` up to 12, the budget of the literature.
fn headline(curves: &[Curve], letter: &str) -> String {
    let at =
        |curve: &Curve| curve.shares.iter().rev().find(|share| share.global <= 12).or(curve.shares.first()).copied();
    let parts: Vec<String> = curves
        .iter()
        .filter_map(|curve| {
            let share = at(curve)?;
            let mean = curve.mean_radius.map(|mean| format!(", mean certified {letter} {}", mean.words(letter)));
            let mean = mean.unwrap_or_default();
            let open = share.unbroken - share.robust;
            Some(format!("{}: {:.1} % robust, {open:.1} % undecided{mean}", curve.method.name(), share.robust))
        })
        .collect();
    let global = curves.last().and_then(at).map_or(0, |share| share.global);
    format!("At {letter} = {global} – {}.", parts.join("; "))
}

/// Curves, and between them what each method decides that the one before it left open.
fn band(curves: &[Curve], known: &[Share], budgets: Axis, targets: &str) -> Plot {
    let mut plot = Plot::new("", budgets, Axis::percent(&format!("share of {targets}")));
    let sure = |low: fn(&Share) -> f64, high: fn(&Share) -> f64| {
        Shape::StepBand(known.iter().map(|s| (s.global as f64, low(s), high(s))).collect())
    };
    plot.mark("", sure(|_| 0.0, |s| s.robust), Ink::Blue, 0.1);
    plot.mark("", sure(|s| s.unbroken, |_| 100.0), Ink::Vermillion, 0.1);
    for (at, pair) in curves.windows(2).enumerate() {
        let name = format!("open by {}, closed by {}", pair[0].method.name(), pair[1].method.name());
        // Only where both were asked.
        let high = |low: &Share| pair[1].shares.iter().find(|share| share.global == low.global);
        let closed = pair[0].shares.iter().filter_map(|low| Some((low, high(low)?.robust)));
        let closed: Vec<(f64, f64, f64)> =
            closed.map(|(low, high)| (low.global as f64, low.robust, high.max(low.robust))).collect();
        // What has no extent anywhere needs no entry in the legend.
        if closed.iter().all(|(_, low, high)| high <= low) {
            continue;
        }
        plot.mark(&name, Shape::StepBand(closed), [Ink::Yellow, Ink::Green, Ink::Sky][at % 3], 0.6);
    }
    if known.iter().any(|s| s.unbroken > s.robust) {
        plot.mark("undecided", sure(|s| s.robust, |s| s.unbroken), Ink::Orange, 0.75);
    }
    // Wide and below the others: an exact line has nothing between itself and this one.
    let points = known.iter().map(|s| (s.global as f64, s.unbroken)).collect();
    plot.mark("above: non-robust", Shape::Steps(points, Dash::Solid, 7.0), Ink::Vermillion, 0.5);
    for curve in curves {
        let (ink, dash, width) = look(curve.method);
        let points = curve.shares.iter().map(|s| (s.global as f64, s.robust)).collect();
        plot.mark(&format!("robust: {}", curve.method.name()), Shape::Steps(points, dash, width), ink, 1.0);
    }
    plot
}

/// Shares of a bar, in percent: robust, dependent on rounding, undecided, non-robust.
type Parts = [f64; 4];

/// One `Q` only: a bar for each method, and one for the network as it runs.
fn bars(curves: &[Curve], letter: &str, group: &Group) -> Plot {
    let global = curves.iter().flat_map(|curve| &curve.shares).map(|share| share.global).next().unwrap_or(0);
    let exact = |share: &Share| [share.robust, 0.0, share.unbroken - share.robust, 100.0 - share.unbroken];
    let mut all: Vec<(String, Parts)> = curves
        .iter()
        .filter_map(|curve| Some((curve.method.name().to_string(), exact(curve.shares.first()?))))
        .collect();
    if let Some((execution, counts)) = group.deployed.zip(deployed_counts(group)) {
        let whole = counts.iter().sum();
        all.push((format!("in {}", format_of(&execution)), counts.map(|count| percent(count, whole))));
    }
    all.reverse();
    let names = all.iter().map(|(name, _)| name.clone()).collect();
    let shown = format!("share of {}", group.targets()[1]);
    let mut plot = Plot::new(&format!("{letter} = {global}"), Axis::percent(&shown), Axis::named("", names));
    let parts = [
        ("robust", Ink::Blue),
        ("depends on rounding", Ink::Purple),
        ("undecided", Ink::Yellow),
        ("non-robust", Ink::Vermillion),
    ];
    let sizes = all.iter().map(|(_, shares)| shares.to_vec()).collect();
    let told = |at: usize, part: usize| format!("{}: {:.1} % {}", all[at].0, all[at].1[part], parts[part].0);
    plot.stack(Stack { lying: true, half: 0.38, parts: &parts, sizes, opacity: 1.0 }, told, |_| String::new());
    plot
}

/// Nodes by their verdict as deployed: robust, dependent on rounding, undecided, non-robust. Nothing if that was not
/// asked.
pub fn deployed_counts(group: &Group) -> Option<[usize; 4]> {
    let rows = &group.headline()?.rows;
    rows.iter().any(|row| row.deployed.is_some()).then(|| {
        let count = |verdict| rows.iter().filter(|row| row.deployed == Some(verdict)).count();
        [
            count(DeployedVerdict::Robust),
            count(DeployedVerdict::RoundingDependent),
            count(DeployedVerdict::Undecided),
            count(DeployedVerdict::NonRobust),
        ]
    })
}

/// What holds for the network as it runs, in a sentence.
fn as_deployed(group: &Group) -> String {
    let Some(execution) = group.deployed else { return String::new() };
    let format = format_of(&execution);
    let Some([robust, rounding, undecided, broken]) = deployed_counts(group) else {
        return format!(" What is robust or non-robust is so in every execution in {format}.");
    };
    let [_, targets] = group.targets();
    format!(
        " In every execution in {format}: {robust} {targets} robust, {broken} non-robust, {rounding} that depend on rounding, {undecided} undecided."
    )
}

/// Draws the published curves and says how far ours are from them.
fn beside(plot: &mut Plot, numbers: &mut Numbers, group: &Group, curves: &[Curve], published: &Published) -> String {
    let training = published::training_of(&group.name);
    let Some(theirs) = published.certified.get(training) else { return String::new() };
    let most = plot.x.range.1;
    let shown = |curve: &[(f64, f64)]| curve.iter().copied().filter(|p| p.0 <= most).collect::<Vec<_>>();
    let mut draw = |name: &str, curve: &[(f64, f64)], column: usize| {
        plot.mark(name, Shape::Steps(shown(curve), Dash::Dashed, 1.4), Ink::Grey, 1.0);
        for &(q, share) in curve {
            let mut row =
                [group.name.clone(), format!("published {training}"), number(q), String::new(), String::new()];
            row[column] = number(share);
            numbers.push(row);
        }
    };
    draw(&format!("published, {training} training"), theirs, 3);
    if let Some(theirs) = published.not_attacked.get(training) {
        draw("", theirs, 4);
    }
    let paper = curves.iter().find(|curve| curve.method == Method::Paper).unwrap_or(&curves[0]);
    let ours: BTreeMap<u64, f64> = paper.shares.iter().map(|share| (share.global, share.robust)).collect();
    let differences: Vec<f64> =
        theirs.iter().filter(|p| p.0 >= 1.0).filter_map(|p| Some(ours.get(&(p.0 as u64))? - p.1)).collect();
    let mean = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
    let far = differences.iter().copied().fold(0.0, |far: f64, d| if d.abs() > far.abs() { d } else { far });
    let at = |q: f64| theirs.iter().find(|p| p.0 == q).map(|p| p.1);
    let twelve = match (ours.get(&12), at(12.0)) {
        (Some(ours), Some(theirs)) => format!("{ours:.1} % against {theirs:.1} % at Q = 12, "),
        _ => String::new(),
    };
    format!(
        "Dashed: the curve published for {} with {training} training, another model than this one. {} certifies {twelve}\
         {mean:+.1} points on average over Q and {far:+.1} where they differ most.",
        published.name,
        capital(paper.method.name())
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcnproof::{Attacker, Flips};

    #[test]
    fn every_entry_of_the_legend_has_its_colour_and_the_exact_line_lies_on_top() {
        let curve = |method, robust: f64| {
            let share = |global| Share { global, robust: robust - global as f64, unbroken: 99.0 - global as f64 };
            Curve { method, shares: (0..4).map(share).collect(), mean_radius: None }
        };
        let curves = [curve(Method::Paper, 70.0), curve(Method::Bounds, 80.0), curve(Method::Exact, 90.0)];
        let plot = band(&curves, &frontier(&curves), budgets(&Flips::WORDS, 3), "nodes");
        let mut inks: Vec<&str> =
            plot.marks.iter().filter(|mark| !mark.name.is_empty()).map(|mark| mark.ink.name()).collect();
        assert_eq!(inks.len(), 7);
        inks.sort_unstable();
        inks.dedup();
        assert_eq!(inks.len(), 7);
        assert_eq!(plot.marks.last().map(|mark| mark.name.as_str()), Some("robust: exact search"));
        assert!(plot.x.ticks().iter().any(|tick| tick.1 == "3"));
        // Bounds that leave nothing open close nothing: no entry, no band.
        let same = [curve(Method::Bounds, 99.0), curve(Method::Exact, 99.0)];
        let plot = band(&same, &frontier(&same), budgets(&Flips::WORDS, 3), "nodes");
        assert_eq!(plot.marks.iter().filter(|mark| !mark.name.is_empty()).count(), 3);
    }
}
