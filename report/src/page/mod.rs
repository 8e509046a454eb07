//! The HTML page: figures, table, style and script in one file that loads nothing from elsewhere.

mod graphs;
mod nodes;
mod sources;
mod whole;

use std::fmt::Write;

use gcnproof::internals::certify::deployment::DeployedVerdict;
use gcnproof::internals::certify::verdict::Verdict;

use super::Report;
use super::classes;
use super::curve;
use super::edges::EdgeAttack;
use super::group::{Attacked, Group, Method, Verdicts};
use super::landscape::words_on;
use super::mean::Mean;
use super::origin;
use super::row::NodeVerdict;
use super::sheet::{Sheet, percent};
use crate::chart::figure::{Figure, Made};
use crate::chart::svg::escaped;

const NAMES: [&str; 9] = [
    "Robust, non-robust, undecided",
    "Models compared",
    "Tightness",
    "Purity and degree",
    "Training",
    "What attackers flip",
    "Cost",
    "One attack for the whole graph",
    "Accuracy and classes",
];

/// The script, file by file; together they are one function.
const SCRIPTS: [&str; 8] = [
    include_str!("script/base.js"),
    include_str!("script/data.js"),
    include_str!("script/table.js"),
    include_str!("script/map.js"),
    include_str!("script/neighbourhood.js"),
    include_str!("script/node.js"),
    include_str!("script/explorer.js"),
    include_str!("script/print.js"),
];

/// The whole page. `folder` is where the figures' files are, for readers of the captions.
pub fn html(report: &Report, sheets: &[Sheet], folder: &str) -> String {
    let title = escaped(&report.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n<meta name=\"generator\" content=\"gcnproof {}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n",
        env!("CARGO_PKG_VERSION"),
        include_str!("page.css")
    );
    let _ = writeln!(page, "<p class=\"facts\">{}</p>", escaped(&facts(report)));
    let names = names(report);
    navigation(&mut page, report, sheets, &names);
    for notice in &report.groups.notices {
        let _ = writeln!(page, "<p class=\"notice\">{}</p>", escaped(notice));
    }
    page.push_str("</header>\n<main>\n");
    overview(&mut page, &report.groups.groups, report.groups.words().global);
    for number in 1..=7 {
        figures(&mut page, number, sheets.iter().filter(|sheet| sheet.number() == number), folder, names[number - 1]);
    }
    whole::section(&mut page, report, sheets, folder, names[whole::NUMBER - 1]);
    let last = classes::NUMBER;
    figures(&mut page, last, sheets.iter().filter(|sheet| sheet.number() == last), folder, names[last - 1]);
    absent(&mut page, sheets);
    graphs::section(&mut page, report);
    nodes::section(&mut page, report);
    guarantees(&mut page, report);
    sources::section(&mut page, report);
    let _ = write!(
        page,
        "</main>\n<script>\n'use strict';\n(() => {{\n{}}})();\n</script>\n</body>\n</html>\n",
        SCRIPTS.concat()
    );
    page
}

/// What the report is about, in one line.
fn facts(report: &Report) -> String {
    let mut facts = Vec::new();
    if let Some(landscape) = &report.landscape {
        let graph = landscape.graph();
        let edges: usize = (0..graph.node_count()).map(|node| graph.degree(node)).sum::<usize>() / 2;
        let (nodes, attributes) = (graph.node_count(), graph.own_attribute_count());
        let graphs = graph.batch().map_or(String::new(), |_| format!("{} graphs, ", graph.target_count()));
        facts.push(format!("{}: {graphs}{nodes} nodes, {edges} edges, {attributes} attributes", landscape.name));
    } else if report.groups.groups.is_empty() && !report.groups.collective.is_empty() {
        facts.push("graph not given (--graph): directions of flips and names are not known".to_string());
    } else if !report.groups.groups.is_empty() {
        let what = match report.groups.attacked {
            Attacked::Flips | Attacked::Both(_) => "distances, directions of flips",
            Attacked::Moves => "distances, old values",
            Attacked::Edges(_) => "distances",
        };
        facts.push(format!("graph not given (--graph): {what} and names are not known"));
    }
    let about = |group: &Group| match group.population.words() {
        nodes if group.name.contains(&nodes) => format!("{}: {}", group.name, group.budget),
        nodes => format!("{}: {}, {nodes}", group.name, group.budget),
    };
    facts.extend(report.groups.groups.iter().map(about));
    facts.extend(report.groups.collective.iter().map(|curve| format!("{}: {}", curve.name, curve.conditions())));
    facts.push(format!("gcnproof {}, {}", env!("CARGO_PKG_VERSION"), report.origin.date));
    facts.join(" · ")
}

/// The figures by name.
fn names(report: &Report) -> [&'static str; 9] {
    let mut names = NAMES;
    match report.groups.attacked {
        Attacked::Flips => {}
        Attacked::Moves => names[5] = "What attackers move",
        Attacked::Edges(EdgeAttack::Remove) => names[5] = "Which edges attackers remove",
        Attacked::Edges(EdgeAttack::Insert) => names[5] = "Which edges attackers insert",
        Attacked::Edges(EdgeAttack::Change) => names[5] = "Which edges attackers change",
        Attacked::Both(_) => names[5] = "What attackers change",
    }
    names
}

fn navigation(page: &mut String, report: &Report, sheets: &[Sheet], names: &[&str]) {
    page.push_str("<nav aria-label=\"sections\">");
    for (at, name) in names.iter().enumerate() {
        if drawn(sheets, at + 1) {
            let _ = write!(page, "<a href=\"#figure-{}\">{} {name}</a> ", at + 1, at + 1);
        }
    }
    if !report.groups.groups.is_empty() {
        page.push_str(match report.groups.groups.iter().any(Group::classifies_graphs) {
            true => "<a href=\"#nodes\">Graphs: table</a> ",
            false => "<a href=\"#nodes\">Nodes: map and table</a> ",
        });
    }
    page.push_str(
        "<a href=\"#guarantees\">What is guaranteed</a> <a href=\"#sources\">What it is made from</a></nav>\n",
    );
}

fn drawn(sheets: &[Sheet], number: usize) -> bool {
    sheets.iter().any(|sheet| sheet.number() == number && matches!(sheet, Sheet::Drawn(_)))
}

/// One line per model and set of verdicts.
fn overview(page: &mut String, groups: &[Group], letter: &str) {
    let mean_title = format!("mean certified {letter}");
    let targets = if groups.iter().any(Group::classifies_graphs) { "graphs" } else { "nodes" };
    let verdicts = || groups.iter().flat_map(|group| group.verdicts.iter().map(move |verdicts| (group, verdicts)));
    let radii = || {
        groups.iter().filter(|group| group.verdicts.is_empty()).filter_map(|group| Some((group, group.best_radii()?)))
    };
    if verdicts().next().is_none() && radii().next().is_none() {
        return;
    }
    let _ = writeln!(
        page,
        "<div class=\"scroll\"><table id=\"overview\" class=\"cards\"><thead><tr><th>model</th><th>{targets}</th><th>budget</th><th>decided by</th>\
         <th class=\"n\">robust</th><th class=\"n\">non-robust</th><th class=\"n\">undecided</th>\
         <th class=\"n\">accuracy</th><th class=\"n\">robust and correct</th><th class=\"n\">{mean_title}</th></tr></thead><tbody>",
    );
    for (group, run) in verdicts() {
        let rows = &run.rows;
        let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let share = |verdict: Verdict| format!("{} ({:.1} %)", count(verdict), percent(count(verdict), rows.len()));
        let labelled = rows.iter().filter(|row| row.label.is_some()).count();
        let right = rows.iter().filter(|row| row.label == Some(row.predicted)).count();
        let accuracy =
            if labelled == 0 { "no labels".to_string() } else { format!("{:.1} %", percent(right, labelled)) };
        let kept = |row: &&NodeVerdict| row.verdict == Verdict::Robust && row.label == Some(row.reference);
        let kept = rows.iter().filter(kept).filter(|row| row.label == Some(row.predicted)).count();
        let kept = if labelled == 0 { "no labels".to_string() } else { format!("{:.1} %", percent(kept, labelled)) };
        let global = run.global.map_or(format!("{letter} not known"), |q| format!("{letter} = {q}"));
        let radius = mean_radius(group, letter);
        let cells = [
            ("model", "", escaped(&group.name)),
            (targets, "", escaped(&group.population.words())),
            ("budget", "", unbroken(&format!("{global}, {}", escaped(&group.budget)))),
            ("decided by", "", run.method.name().to_string()),
            ("robust", "n", share(Verdict::Robust)),
            ("non-robust", "n", share(Verdict::NonRobust)),
            ("undecided", "n", share(Verdict::Undecided)),
            ("accuracy", "n", accuracy),
            ("robust and correct", "n", kept),
            (mean_title.as_str(), "n", radius),
        ];
        page.push_str("<tr>");
        for (label, class, content) in cells {
            let _ = write!(page, "<td class=\"{class}\" data-label=\"{label}\">{content}</td>");
        }
        page.push_str("</tr>\n");
        deployed_row(page, group, run);
    }
    for (group, radii) in radii() {
        let rows = &radii.rows;
        let labelled = rows.iter().filter(|row| row.label.is_some()).count();
        let right = rows.iter().filter(|row| row.label == Some(row.predicted)).count();
        let none = || "–".to_string();
        let cells = [
            ("model", "", escaped(&group.name)),
            (targets, "", escaped(&group.population.words())),
            ("budget", "", unbroken(&format!("{letter} up to {}, {}", radii.limit, escaped(&group.budget)))),
            ("decided by", "", radii.method.name().to_string()),
            ("robust", "n", none()),
            ("non-robust", "n", none()),
            ("undecided", "n", none()),
            (
                "accuracy",
                "n",
                if labelled == 0 { "no labels".into() } else { format!("{:.1} %", percent(right, labelled)) },
            ),
            ("robust and correct", "n", none()),
            (mean_title.as_str(), "n", mean_radius(group, letter)),
        ];
        page.push_str("<tr>");
        for (label, class, content) in cells {
            let _ = write!(page, "<td class=\"{class}\" data-label=\"{label}\">{content}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

/// The mean of what is certified, by the best method and by the paper's bound.
fn mean_radius(group: &Group, letter: &str) -> String {
    let curves = curve::curves(group);
    let mean = |method: Method| curves.iter().find(|curve| curve.method == method)?.mean_radius;
    let best = curves.last().and_then(|curve| curve.mean_radius);
    best.map_or("–".to_string(), |best| mean_cell(best, mean(Method::Paper), letter))
}

/// The same nodes by their verdicts for the network as it runs.
fn deployed_row(page: &mut String, group: &Group, run: &Verdicts) {
    let rows = &run.rows;
    let Some(execution) = group.deployed.filter(|_| rows.iter().any(|row| row.deployed.is_some())) else { return };
    let count = |verdict| rows.iter().filter(|row| row.deployed == Some(verdict)).count();
    let share = |verdict| format!("{} ({:.1} %)", count(verdict), percent(count(verdict), rows.len()));
    let rounding = count(DeployedVerdict::RoundingDependent);
    let open = format!(
        "{}<br><small class=\"soft\">and {rounding} that depend on rounding</small>",
        share(DeployedVerdict::Undecided)
    );
    let labelled = rows.iter().filter(|row| row.label.is_some()).count();
    let kept = rows.iter().filter(|row| row.deployed == Some(DeployedVerdict::Robust));
    let kept = kept.filter(|row| row.label == Some(row.predicted) && row.label == Some(row.reference)).count();
    let kept = if labelled == 0 { "no labels".to_string() } else { format!("{:.1} %", percent(kept, labelled)) };
    let cells = [
        ("model", "", format!("as deployed in {}", escaped(&origin::format_of(&execution)))),
        ("nodes", "", "the same nodes".to_string()),
        ("budget", "", "the same budget".to_string()),
        ("decided by", "", "margins beyond every rounding error".to_string()),
        ("robust", "n", share(DeployedVerdict::Robust)),
        ("non-robust", "n", share(DeployedVerdict::NonRobust)),
        ("undecided", "n", open),
        ("accuracy", "n", String::new()),
        ("robust and correct", "n", kept),
        ("", "n", String::new()),
    ];
    page.push_str("<tr class=\"deployed\">");
    for (label, class, content) in cells {
        let _ = write!(page, "<td class=\"{class}\" data-label=\"{label}\">{content}</td>");
    }
    page.push_str("</tr>\n");
}

/// The mean, and what share of the nodes is at the cap: their true radius may be larger.
fn mean_cell(best: Mean, paper: Option<Mean>, letter: &str) -> String {
    let cap =
        (best.capped > 0.0).then(|| format!("{:.1} % of the nodes at the cap, {letter} = {}", best.capped, best.limit));
    let paper = paper.map(|paper| format!("the paper's bound: {}", paper.short()));
    let below: Vec<String> = [cap, paper].into_iter().flatten().collect();
    format!("{}<br><small class=\"soft\">{}</small>", best.short(), below.join("; "))
}

fn figures<'a>(page: &mut String, number: usize, sheets: impl Iterator<Item = &'a Sheet>, folder: &str, heading: &str) {
    let figures = sheets.filter_map(|sheet| match sheet {
        Sheet::Drawn(figure) => Some(figure),
        Sheet::Missing { .. } => None,
    });
    for (at, figure) in figures.enumerate() {
        page.push_str("<section class=\"figure\">");
        if at == 0 {
            let _ = writeln!(page, "<h2 id=\"figure-{number}\">Figure {number}: {heading}</h2>");
        }
        figure_of(page, figure, folder);
        page.push_str("</section>\n");
    }
}

/// A figure with its title, its picture and its caption.
fn figure_of(page: &mut String, figure: &Figure, folder: &str) {
    let name = escaped(&figure.name);
    let folder = escaped(folder);
    let _ = writeln!(
        page,
        "<figure id=\"{name}\"><div class=\"head\"><h3>{}</h3><span class=\"files\"><button type=\"button\" class=\"b save\" data-name=\"{name}.svg\">save SVG</button> \
         <a href=\"{}/{}.csv\">numbers (CSV)</a></span></div>\
         <div class=\"broad\">{}</div><div class=\"slim\" aria-hidden=\"true\">{}</div><figcaption>{}{}</figcaption></figure>",
        escaped(&figure.title),
        address(&folder),
        address(&name),
        figure.svg(),
        figure.narrow_svg(),
        escaped(&figure.caption),
        made(&figure.made)
    );
}

/// Lines do not break between a letter and its number.
fn unbroken(text: &str) -> String {
    text.replace(" = ", "&nbsp;=&nbsp;")
}

/// A name as a part of an address.
fn address(name: &str) -> String {
    name.replace('%', "%25").replace('#', "%23").replace('?', "%3F")
}

/// Commands longer than this are shown on request.
const LONG: usize = 300;

/// What a figure is made from: which nodes, and by which commands.
fn made(parts: &[Made]) -> String {
    let mut text = String::new();
    for Made { name, nodes, commands } in parts {
        let name = if parts.len() > 1 { format!("{}: ", escaped(name)) } else { String::new() };
        let list: Vec<String> = commands.iter().map(|command| format!("<code>{}</code>", escaped(command))).collect();
        let list = list.join("<br>");
        let list = match commands.iter().any(|command| command.len() > LONG) {
            true => format!("<details><summary>commands</summary>{list}</details>"),
            false => list,
        };
        let _ = write!(text, "<div class=\"made\">{name}{}. {list}</div>", escaped(nodes));
    }
    text
}

/// What is not drawn and why, in one place instead of a box for each.
fn absent(page: &mut String, sheets: &[Sheet]) {
    let absent: Vec<String> = sheets
        .iter()
        .filter_map(|sheet| match sheet {
            Sheet::Missing { number, title, why } => {
                Some(format!("<li>Figure {number}, {}: {}</li>", escaped(title), escaped(why)))
            }
            Sheet::Drawn(_) => None,
        })
        .collect();
    if !absent.is_empty() {
        let _ = writeln!(
            page,
            "<section id=\"absent\" class=\"soft\"><h3>Not drawn</h3><ul>{}</ul></section>",
            absent.join("")
        );
    }
}

fn guarantees(page: &mut String, report: &Report) {
    let groups = &report.groups;
    let changes = words_on(groups.words(), report.landscape.as_ref()).changes;
    let (entries, not_covered) = match groups.attacked {
        Attacked::Flips => (
            "message-passing entries are the stored",
            "Changes of edges, of weights, of attributes that are not binary.",
        ),
        Attacked::Moves => {
            ("message-passing entries are the stored", "Changes of edges and of weights, values outside the ranges.")
        }
        Attacked::Edges(attack) => (
            "message-passing entries, made anew from the changed edges, are",
            match attack {
                EdgeAttack::Remove => "Inserted edges, changes of attributes and weights.",
                EdgeAttack::Insert => "Removed edges, changes of attributes and weights.",
                EdgeAttack::Change => "Changes of attributes and weights.",
            },
        ),
        Attacked::Both(attack) => (
            "message-passing entries, made anew from the changed edges, are",
            match attack {
                EdgeAttack::Remove => "Inserted edges, changes of weights, of attributes that are not binary.",
                EdgeAttack::Insert => "Removed edges, changes of weights, of attributes that are not binary.",
                EdgeAttack::Change => "Changes of weights, of attributes that are not binary.",
            },
        ),
    };
    let all_needed = match groups.attacked {
        Attacked::Moves => "Of at most 64 of them no single one can be left out.",
        _ => "No single one of them can be left out (in files of earlier versions some can).",
    };
    let deployed = groups.groups.iter().find_map(|group| group.deployed).map_or(String::new(), |execution| {
        format!(
            "<li><b>As deployed.</b> In every execution in {}, whatever the order of its sums: a margin is beyond every rounding error, \
             or the verdict is that it depends on rounding.</li>\n",
            origin::format_of(&execution)
        )
    });
    let whole = if groups.attacked.edges().is_some() || groups.collective.is_empty() { "" } else { whole::GUARANTEE };
    let _ = write!(
        page,
        "<section id=\"guarantees\"><h2>What is guaranteed</h2>\n<ul>\n\
         <li><b>Which network.</b> The one in exact real arithmetic whose weights, biases and {entries} \
         floating-point numbers.</li>\n\
         <li><b>Robust.</b> No admissible set of {changes} changes the class: a lower bound on every margin is positive after all \
         rounding errors are accounted for.</li>\n\
         <li><b>Non-robust.</b> The {changes} shown take a margin to zero or below, replayed through that exact network. Zero is a \
         tie and counts as broken. {all_needed}</li>\n\
         <li><b>Undecided.</b> Neither was shown. Nothing is claimed.</li>\n\
         {deployed}{whole}<li><b>Margins</b> in the table are rounded so that they still hold: lower bounds down, attacks up.</li>\n\
         <li><b>Not covered.</b> {not_covered} Times are measured, curves \
         drawn dashed are published by others: neither is part of any guarantee.</li>\n</ul></section>\n"
    );
}
