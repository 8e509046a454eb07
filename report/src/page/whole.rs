//! The section of one attack for the whole graph: figure 8, and beneath each curve a table of its budgets.

use std::fmt::Write;

use gcnproof_results::record::attackers::Attackers;
use gcnproof_results::record::collective::CollectiveRecord;

use super::figure_of;
use crate::Report;
use crate::chart::svg::escaped;
use crate::collective::{Collective, certified, unknown};
use crate::sheet::{Sheet, percent};
pub use crate::whole::NUMBER;

/// Rows of a table at most; of more budgets, some evenly.
const ROWS: usize = 25;

/// What is claimed of the results.
pub const GUARANTEE: &str = "<li><b>One attack for the whole graph.</b> No set of flips within the budget breaks more predictions than unknown and \
    broken together: the bound is evaluated in integers. Those under broken are broken by the attack found, all at once, replayed \
    through that exact network.</li>\n";

/// Writes the section; nothing without such results.
pub fn section(page: &mut String, report: &Report, sheets: &[Sheet], folder: &str, heading: &str) {
    let all = &report.groups.collective;
    if all.is_empty() {
        return;
    }
    let of_all: Vec<&Sheet> = sheets.iter().filter(|sheet| sheet.number() == NUMBER).collect();
    // Each of them has two sheets: the curve, and what the attack uses.
    for (at, (curve, parts)) in all.iter().zip(of_all.chunks(2)).enumerate() {
        page.push_str("<section class=\"figure\">");
        if at == 0 {
            let _ = writeln!(page, "<h2 id=\"figure-{NUMBER}\">Figure {NUMBER}: {heading}</h2>");
        }
        for (part, sheet) in parts.iter().enumerate() {
            if let Sheet::Drawn(figure) = sheet {
                figure_of(page, figure, folder);
            }
            if part == 0 {
                table(page, curve);
            }
        }
        page.push_str("</section>\n");
    }
}

/// The budgets of a curve, line by line.
fn table(page: &mut String, curve: &Collective) {
    let every = curve.rows.len().div_ceil(ROWS).max(1);
    // The last one is always there, whatever the step.
    let last = curve.rows.len().saturating_sub(1) % every;
    let shown = curve.rows.iter().skip(last).step_by(every);
    let heads = ["Q", "certified", "unknown", "broken", "robust by itself", "flips", "nodes", "attributes"];
    page.push_str("<div class=\"scroll\"><table class=\"cards whole\"><caption>");
    let _ = write!(page, "{}: numbers of predictions, and what the attack found uses", escaped(&curve.name));
    if every > 1 {
        let _ = write!(page, "; every {every} of {} budgets, all of them are in the CSV file", curve.rows.len());
    }
    page.push_str("</caption><thead><tr>");
    heads.iter().for_each(|head| {
        let _ = write!(page, "<th class=\"n\">{head}</th>");
    });
    page.push_str("</tr></thead><tbody>\n");
    for row in shown {
        page.push_str("<tr>");
        for (head, content) in heads.iter().zip(cells(curve, row)) {
            let _ = write!(page, "<td class=\"n\" data-label=\"{head}\">{content}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn cells(curve: &Collective, row: &CollectiveRecord) -> [String; 8] {
    let used = Attackers::new(&row.flips, None);
    let share = |part: u64| format!("{part} ({:.1} %)", percent(part as usize, row.counted as usize));
    [
        row.q_global.to_string(),
        share(certified(row)),
        unknown(row).to_string(),
        row.broken.to_string(),
        share(curve.robust_alone(row)),
        row.flips.len().to_string(),
        used.nodes.len().to_string(),
        used.attributes.len().to_string(),
    ]
}
