//! The section of the nodes: slider, filters, map, one node in detail, and the table, with the data of all of them.

use std::fmt::Write;

use crate::Report;
use crate::chart::svg::escaped;
use crate::explorer::attack::Weighing;
use crate::group::{Attacked, Group};
use crate::landscape::words_on;
use crate::{explorer, table};

/// The controls and empty places after the label of the slider; the script fills them.
const CONTROLS: &str = "<input id=\"q\" type=\"range\" min=\"0\" step=\"1\"><output for=\"q\" class=\"tally\" aria-live=\"polite\"></output></div>\n\
    <div class=\"bar sieve\" role=\"group\" aria-label=\"filters\">\
    <label>class <select data-sieve=\"predicted\"></select></label>\
    <label>verdict <select data-sieve=\"verdict\"></select></label>\
    <label>degree <input data-sieve=\"degree\" size=\"7\" placeholder=\"&gt; 5, 3-7\"></label>\
    <label>purity % <input data-sieve=\"purity\" size=\"7\" placeholder=\"&lt; 50\"></label>\
    <label>open node <input class=\"goto\" size=\"7\" inputmode=\"numeric\" placeholder=\"id\"></label>\
    <button type=\"button\" class=\"b clear\">clear filters</button></div>\n";

const MAP: &str = "<div class=\"map\"><canvas tabindex=\"0\" role=\"application\" aria-roledescription=\"map\"></canvas>\
    <div class=\"bar tools\"><button type=\"button\" class=\"b\" data-zoom=\"1.6\" aria-label=\"zoom in\">+</button>\
    <button type=\"button\" class=\"b\" data-zoom=\"0.625\" aria-label=\"zoom out\">−</button>\
    <button type=\"button\" class=\"b\" data-zoom=\"0\">whole map</button>\
    <label>colour <select class=\"colour\"><option value=\"verdict\">by verdict</option><option value=\"class\">by predicted class</option></select></label></div>\
    <p class=\"legend soft\"></p><p class=\"soft hint\">Click a node, or type its id above. The map has the focus: arrows move it, + and − zoom, 0 shows the \
    whole. Nodes that do not fit the filters are faint.</p></div>";

const NO_MAP: &str =
    "<p class=\"notice\">No map and no neighbourhoods are drawn: the graph was not given (<code>--graph</code>).</p>";

const LARGE: &str = "<p class=\"notice\">No map and no neighbourhoods are drawn: the graph is too large for it (more than 60,000 nodes or \
    500,000 edges).</p>";

const TABLE: &str = "<p class=\"soft hint\">A node’s number opens it above. A heading sorts. Filters take numbers \
    (<code>&gt; 5</code>, <code>3-7</code>, <code>?</code> for not known) or a part of a text. An attack is the smallest that \
    is known; it was replayed through the exact network.</p>\n\
    <div class=\"bar paging\"><button type=\"button\" class=\"b back\">previous</button>\
    <button type=\"button\" class=\"b next\">next</button>\
    <label>rows <select class=\"rows\"><option>50</option><option>200</option><option>1000</option><option value=\"0\">all</option></select></label>\
    <label class=\"sorting\">sort by <select class=\"sort\"></select></label>\
    <label><input type=\"checkbox\" class=\"more\"> more columns</label>\
    <span class=\"count\" aria-live=\"polite\"></span></div>\n\
    <p class=\"printed\"></p><p class=\"cue\" aria-hidden=\"true\" hidden>More columns to the right: scroll the table sideways →</p>\
    <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table of nodes\"><table class=\"cards\"><thead></thead><tbody></tbody></table></div>\n\
    <noscript><p class=\"notice\">Map and table need JavaScript. The same rows are in the result files.</p></noscript>\n";

/// Writes the section; nothing if there are no nodes.
pub fn section(page: &mut String, report: &Report) {
    let landscape = report.landscape.as_ref();
    let tables: Vec<_> = report
        .groups
        .groups
        .iter()
        .filter_map(|group| {
            let network = group.identity.as_ref().and_then(|identity| report.models.of(identity));
            let weighing = landscape.zip(network).and_then(|(land, network)| Weighing::new(land.graph(), network));
            table::nodes(group, landscape, weighing.as_ref())
        })
        .collect();
    if tables.is_empty() {
        return;
    }
    let graphs = report.groups.groups.iter().any(Group::classifies_graphs);
    let categories = landscape.is_some_and(|landscape| landscape.graph().categories().is_some());
    let attacked = report.groups.attacked;
    let (moves, both) = (attacked == Attacked::Moves, matches!(attacked, Attacked::Both(_)));
    let mut about = attacked.edges().map_or(String::new(), |edges| format!(" data-edges=\"{}\"", edges.verb()));
    for (holds, name) in [(both, "both"), (graphs, "graphs"), (categories, "categories"), (moves, "moves")] {
        if holds {
            let _ = write!(about, " data-{name}");
        }
    }
    let heading = if graphs { "Graphs" } else { "Nodes" };
    let _ = write!(page, "<section id=\"nodes\"{about}><h2>{heading}</h2>\n<div class=\"bar\">");
    if tables.len() > 1 {
        page.push_str("<label>model <select class=\"model\">");
        for (at, table) in tables.iter().enumerate() {
            let _ = write!(page, "<option value=\"{at}\">{}</option>", escaped(table["name"].as_str().unwrap_or("")));
        }
        page.push_str("</select></label>");
    }
    let drawn = landscape.filter(|landscape| explorer::is_drawable(landscape));
    let map = match (landscape, drawn) {
        (_, Some(_)) => MAP,
        (None, _) => NO_MAP,
        (Some(_), None) if graphs => "",
        (Some(_), None) => LARGE,
    };
    let words = words_on(report.groups.words(), landscape);
    // Of both budgets `E` stays as it is.
    let counted = if both { "flips" } else { words.changes };
    let slider = format!("<div class=\"bar dial\" hidden><label for=\"q\">{}, {counted} in all</label>", words.global);
    let told = |text: &str| match graphs {
        true => text
            .replace("<label>degree ", "<label>edges ")
            .replace("open node", "open graph")
            .replace("A node’s number", "A graph’s number")
            .replace("table of nodes", "table of graphs")
            .replace("one node", "one graph")
            .replace("Map and table need", "The table needs"),
        false => text.to_string(),
    };
    let _ = write!(
        page,
        "<span class=\"about soft\"></span></div>\n{slider}{}<div class=\"explorer\">{map}\
         <section class=\"one\" aria-label=\"{}\" tabindex=\"-1\"></section></div>\n{}",
        told(CONTROLS),
        told("one node"),
        told(TABLE)
    );
    if let Some(landscape) = drawn {
        let _ = writeln!(page, "<script type=\"application/json\" id=\"graph\">{}</script>", explorer::map(landscape));
    }
    for table in &tables {
        // Nothing in the data can end the script early.
        let json = table.to_string().replace('<', "\\u003c");
        let _ = writeln!(page, "<script type=\"application/json\" class=\"table\">{json}</script>");
    }
    page.push_str("</section>\n");
}
