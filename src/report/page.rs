//! The HTML page: figures, table, style and script in one file that loads nothing from elsewhere.

use std::fmt::Write;

use super::Report;
use super::curve;
use super::group::{Group, Method};
use super::landscape::Landscape;
use super::sheet::{Sheet, percent};
use super::table;
use crate::certify::verdict::Verdict;
use crate::chart::svg::escaped;

const NAMES: [&str; 7] = [
    "Robust, non-robust, undecided",
    "Models compared",
    "Tightness",
    "Purity and degree",
    "Training",
    "What attackers flip",
    "Cost",
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
    navigation(&mut page, report, sheets);
    for notice in &report.groups.notices {
        let _ = writeln!(page, "<p class=\"notice\">{}</p>", escaped(notice));
    }
    page.push_str("</header>\n<main>\n");
    overview(&mut page, &report.groups.groups);
    for number in 1..=7 {
        figures(&mut page, number, sheets.iter().filter(|sheet| sheet.number() == number), folder);
    }
    nodes(&mut page, &report.groups.groups, report.landscape.as_ref());
    guarantees(&mut page);
    let _ = write!(page, "</main>\n<script>\n{}</script>\n</body>\n</html>\n", include_str!("page.js"));
    page
}

/// What the report is about, in one line.
fn facts(report: &Report) -> String {
    let mut facts = Vec::new();
    if let Some(landscape) = &report.landscape {
        let graph = landscape.graph();
        let edges: usize = (0..graph.node_count()).map(|node| graph.degree(node)).sum::<usize>() / 2;
        let (nodes, attributes) = (graph.node_count(), graph.attribute_count());
        facts.push(format!("{}: {nodes} nodes, {edges} edges, {attributes} attributes", landscape.name));
    } else if !report.groups.groups.is_empty() {
        facts.push("graph not given (--graph): distances, directions of flips and names are not known".to_string());
    }
    facts.extend(report.groups.groups.iter().map(|group| format!("{}: {}", group.name, group.budget)));
    facts.push(format!("gcnproof {}", env!("CARGO_PKG_VERSION")));
    facts.join(" · ")
}

fn navigation(page: &mut String, report: &Report, sheets: &[Sheet]) {
    page.push_str("<nav aria-label=\"sections\">");
    for (at, name) in NAMES.iter().enumerate() {
        if sheets.iter().any(|sheet| sheet.number() == at + 1) {
            let _ = write!(page, "<a href=\"#figure-{}\">{} {name}</a> ", at + 1, at + 1);
        }
    }
    if !report.groups.groups.is_empty() {
        page.push_str("<a href=\"#nodes\">Nodes</a> ");
    }
    page.push_str("<a href=\"#guarantees\">What is guaranteed</a></nav>\n");
}

/// One line per model and set of verdicts.
fn overview(page: &mut String, groups: &[Group]) {
    let verdicts = || groups.iter().flat_map(|group| group.verdicts.iter().map(move |verdicts| (group, verdicts)));
    if verdicts().next().is_none() {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table id=\"overview\"><thead><tr><th>model</th><th>budget</th><th>decided by</th>\
         <th class=\"n\">nodes</th><th class=\"n\">robust</th><th class=\"n\">non-robust</th><th class=\"n\">undecided</th>\
         <th class=\"n\">accuracy</th><th class=\"n\">mean certified Q</th></tr></thead><tbody>\n",
    );
    for (group, run) in verdicts() {
        let rows = &run.rows;
        let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let share = |verdict: Verdict| format!("{} ({:.1} %)", count(verdict), percent(count(verdict), rows.len()));
        let labelled = rows.iter().filter(|row| row.label.is_some()).count();
        let right = rows.iter().filter(|row| row.label == Some(row.predicted)).count();
        let accuracy =
            if labelled == 0 { "no labels".to_string() } else { format!("{:.1} %", percent(right, labelled)) };
        let global = run.global.map_or("Q not known".to_string(), |q| format!("Q = {q}"));
        let curves = curve::curves(group);
        let mean = |method: Method| curves.iter().find(|curve| curve.method == method)?.mean_radius;
        let radius = curves.last().and_then(|curve| curve.mean_radius).map_or("–".to_string(), |best| {
            let paper = mean(Method::Paper).map_or(String::new(), |paper| format!(" (the paper's bound: {paper:.2})"));
            format!("{best:.2}{paper}")
        });
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{global}, {}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{accuracy}</td><td class=\"n\">{radius}</td></tr>",
            escaped(&group.name),
            escaped(&group.budget),
            run.method.name(),
            rows.len(),
            share(Verdict::Robust),
            share(Verdict::NonRobust),
            share(Verdict::Undecided),
        );
    }
    page.push_str("</tbody></table></div>\n");
}

fn figures<'a>(page: &mut String, number: usize, sheets: impl Iterator<Item = &'a Sheet>, folder: &str) {
    for (at, sheet) in sheets.enumerate() {
        if at == 0 {
            let _ = writeln!(page, "<h2 id=\"figure-{number}\">Figure {number}: {}</h2>", NAMES[number - 1]);
        }
        match sheet {
            Sheet::Missing { title, why, .. } => {
                let _ = writeln!(page, "<p class=\"missing\"><b>{}.</b> {}</p>", escaped(title), escaped(why));
            }
            Sheet::Drawn(figure) => {
                let name = escaped(&figure.name);
                let _ = writeln!(
                    page,
                    "<figure id=\"{name}\"><div class=\"head\"><h3>{}</h3><button type=\"button\" class=\"b save\" data-name=\"{name}.svg\">save SVG</button></div>\
                     <div class=\"narrow\">{}</div><figcaption>{} <span class=\"soft\">Numbers: {}/{name}.csv</span></figcaption></figure>",
                    escaped(&figure.title),
                    figure.svg(),
                    escaped(&figure.caption),
                    escaped(folder)
                );
            }
        }
    }
}

/// The place of the table, and its data.
fn nodes(page: &mut String, groups: &[Group], landscape: Option<&Landscape>) {
    let tables: Vec<_> = groups.iter().filter_map(|group| table::nodes(group, landscape)).collect();
    if tables.is_empty() {
        return;
    }
    page.push_str("<section id=\"nodes\"><h2>Nodes</h2>\n<div class=\"bar\">");
    if tables.len() > 1 {
        page.push_str("<label>model <select class=\"model\">");
        for (at, table) in tables.iter().enumerate() {
            let _ = write!(page, "<option value=\"{at}\">{}</option>", escaped(table["name"].as_str().unwrap_or("")));
        }
        page.push_str("</select></label>");
    }
    page.push_str(
        "<span class=\"about soft\"></span></div>\n<p class=\"soft\">Click a heading to sort. Filters take numbers \
         (<code>&gt; 5</code>, <code>3-7</code>, <code>?</code> for not known) or a part of a text. An attack is the smallest that \
         is known; it was replayed through the exact network.</p>\n\
         <div class=\"bar\"><button type=\"button\" class=\"b back\">previous</button>\
         <button type=\"button\" class=\"b next\">next</button><button type=\"button\" class=\"b clear\">clear filters</button>\
         <span class=\"count\" aria-live=\"polite\"></span></div>\n<div class=\"scroll\"><table><thead></thead><tbody></tbody></table></div>\n\
         <noscript><p class=\"notice\">The table needs JavaScript. The same rows are in the result files.</p></noscript>\n",
    );
    for table in &tables {
        // Nothing in the data can end the script early.
        let json = table.to_string().replace('<', "\\u003c");
        let _ = writeln!(page, "<script type=\"application/json\" class=\"table\">{json}</script>");
    }
    page.push_str("</section>\n");
}

fn guarantees(page: &mut String) {
    page.push_str(
        "<section id=\"guarantees\"><h2>What is guaranteed</h2>\n<ul>\n\
         <li><b>Which network.</b> The one in exact real arithmetic whose weights, biases and message-passing entries are the \
         stored floating-point numbers.</li>\n\
         <li><b>Robust.</b> No admissible set of flips changes the class: a lower bound on every margin is positive after all \
         rounding errors are accounted for.</li>\n\
         <li><b>Non-robust.</b> The flips shown take a margin to zero or below, replayed through that exact network. Zero is a \
         tie and counts as broken.</li>\n\
         <li><b>Undecided.</b> Neither was shown. Nothing is claimed.</li>\n\
         <li><b>Margins</b> in the table are rounded so that they still hold: lower bounds down, attacks up.</li>\n\
         <li><b>Not covered.</b> Changes of edges, of weights, of attributes that are not binary. Times are measured, curves \
         drawn dashed are published by others: neither is part of any guarantee.</li>\n</ul></section>\n",
    );
}
