//! The section about where the page comes from: date, commands, versions, graph and models by short digests, files.

use std::fmt::Write;

use gcnproof_results::record::description::Identity;

use crate::Report;
use crate::chart::svg::escaped;
use crate::sheet::short_digest;

/// Writes the section.
pub fn section(page: &mut String, report: &Report) {
    let mut lines: Vec<(String, String)> = vec![
        ("made".into(), format!("{}, gcnproof {}", escaped(&report.origin.date), env!("CARGO_PKG_VERSION"))),
        ("by".into(), format!("<code>{}</code>", escaped(&report.origin.command))),
    ];
    for command in &report.groups.commands {
        lines.push(("study".into(), format!("<code>{}</code>", escaped(command))));
    }
    let graph = report.landscape.as_ref().map(|landscape| landscape.graph().digest().to_string());
    if let Some(digest) = graph.or_else(|| report.groups.graph.clone()) {
        let name = report.landscape.as_ref().map_or("graph", |landscape| &landscape.name);
        lines.push(("graph".into(), format!("{} {}", escaped(name), shown(&digest))));
    }
    for group in &report.groups.groups {
        lines.push(("model".into(), format!("{}: {}", escaped(&group.name), model(group.identity.as_ref()))));
    }
    for curve in &report.groups.collective {
        let identity = curve.identity();
        // A model that has other results too stands above.
        if identity.is_some() && report.groups.groups.iter().any(|group| group.identity.as_ref() == identity) {
            continue;
        }
        lines.push(("model".into(), format!("{}: {}", escaped(&curve.name), model(identity))));
    }
    lines.extend(report.groups.files.iter().map(|file| ("results".into(), escaped(file))));
    page.push_str("<section id=\"sources\"><h2>What it is made from</h2>\n<dl>\n");
    for (name, words) in lines {
        let _ = writeln!(page, "<dt>{name}</dt><dd>{words}</dd>");
    }
    page.push_str("</dl></section>\n");
}

/// Model and message passing.
fn model(identity: Option<&Identity>) -> String {
    identity.map_or("not known".to_string(), |identity| {
        format!("{}, message passing {}", shown(&identity.model), escaped(&passing(&identity.message_passing)))
    })
}

/// A digest as people compare it; the pointer is told the whole.
fn shown(digest: &str) -> String {
    format!("<code title=\"{}\">{}</code>", escaped(digest), escaped(&short_digest(digest)))
}

/// Message passing by name, a matrix by a short digest.
fn passing(rules: &[String]) -> String {
    let short = |rule: &String| match rule.split_once(':') {
        Some((kind, digest)) => format!("{kind} {}", short_digest(digest)),
        None => rule.clone(),
    };
    rules.iter().map(short).collect::<Vec<_>>().join(", ")
}
