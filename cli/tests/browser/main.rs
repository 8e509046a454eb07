//! The report in a real browser: no error, no request, a table that sorts and filters, an explorer that opens nodes.
#![allow(missing_docs)]

mod chromium;
mod explorer;
mod paper;

use std::path::Path;
use std::process::Command;

use chromium::Browser;
use gcnproof::{Flip, Reason, Verdict};
use gcnproof_files::write::write_model_safetensors;
use gcnproof_files::{Precision, read_model};
use gcnproof_results::record::{FlipColumns, MarginRecord, NodeRecord};
use gcnproof_results::write;
use serde_json::Value;

pub fn gcnproof(arguments: &[&str]) {
    let done = Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

pub fn browser() -> Option<Browser> {
    let found = chromium::find();
    if found.is_none() {
        println!("SKIPPED: no Chromium on PATH (apt-get install chromium, or set GCNPROOF_BROWSER)");
    }
    found.map(|program| Browser::start(&program))
}

/// Nothing may be asked for but the page itself.
pub fn quiet(browser: &Browser, page: &Path) {
    assert_eq!(browser.complaints(), Vec::<&Value>::new());
    let name = page.file_name().unwrap().to_str().unwrap();
    let strangers: Vec<String> =
        browser.requests().into_iter().filter(|url| !url.ends_with(name) && !url.starts_with("data:")).collect();
    assert_eq!(strangers, Vec::<String>::new());
}

/// Helpers in the page: what a column shows, a click on its heading, a filter.
pub const HELPERS: &str = "
    const heads = () => [...document.querySelectorAll('#nodes .scroll thead tr:first-child button')];
    const place = (key) => heads().findIndex((button) => button.dataset.key === key);
    const cells = (key) => [...document.querySelectorAll('#nodes .scroll tbody tr')].map((row) => row.children[place(key)].textContent);
    const sort = (key) => heads()[place(key)].click();
    const filter = (key, value) => {
        const control = document.querySelector(`#nodes [data-filter=${key}]`);
        control.value = value;
        control.dispatchEvent(new Event('input', { bubbles: true }));
        return control.getAttribute('aria-invalid');
    };
    const choice = (key, text) =>
        [...document.querySelector(`#nodes [data-filter=${key}]`).options].find((option) => option.text === text).value;
    const count = () => Number(document.querySelector('#nodes .count').textContent.replace(/,/g, '').split(' ')[0]);
    const press = (name) => document.querySelector(`#nodes .${name}`).click();
    const rising = (list) => list.every((x, i) => i === 0 || list[i - 1] <= x);
    const falling = (list) => list.every((x, i) => i === 0 || list[i - 1] >= x);
";

#[test]
fn the_report_of_a_study_works_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    // A second model: the first with half of its first bias.
    let first = "../fixtures/cora_pyg.safetensors";
    let mut model = read_model(Path::new(first)).unwrap();
    model.layers[0].bias.iter_mut().for_each(|bias| *bias *= 0.5);
    let second = at("halved.safetensors");
    write_model_safetensors(Path::new(&second), &model.layers, Precision::F64, &Default::default()).unwrap();
    let budget = ["--nodes", "0-119", "-Q", "4", "--Q-max", "6", "--sample", "4", "--complete", "--time-limit", "0.2"];
    gcnproof(&[&["study", "../fixtures/cora.npz", first, &second, "--out", &at("study")], &budget[..]].concat());
    gcnproof(&["report", &at("study"), "--out", &at("report.html")]);
    let page = folder.path().join("report.html");
    browser.open(&page);
    quiet(&browser, &page);
    browser.eval(HELPERS);
    let truths = [
        "count() === 120 && cells('node').length === 50 && cells('node')[0] === '0'",
        // Sorting, up and down; what is not known comes last.
        "sort('degree'), rising(cells('degree').map(Number))",
        "sort('degree'), falling(cells('degree').map(Number))",
        "document.querySelector('#nodes [aria-sort=descending] button').dataset.key === 'degree'",
        "sort('attacked'), sort('attacked'), falling(cells('attacked').map((x) => x === '–' ? -1 : Number(x)))",
        // Paging.
        "press('next'), press('next'), cells('node').length === 20",
        "press('back'), cells('node').length === 50",
        // Filters, alone and together.
        "filter('verdict', choice('verdict', 'robust')), cells('verdict').every((x) => x === 'robust') && count() > 0",
        "robust = count(), filter('degree', '> 3'), cells('degree').every((x) => Number(x) > 3) && count() < robust",
        "filter('degree', '2-3'), cells('degree').every((x) => x === '2' || x === '3')",
        "filter('degree', 'nonsense') === 'true' && count() === robust",
        "press('clear'), count() === 120",
        "filter('attack', 'remove word'), count() > 0 && cells('attack').every((x) => x.includes('remove word') && x.includes('from'))",
        "filter('node', '999'), count() === 0 && document.querySelector('#nodes .scroll tbody').textContent.includes('No node fits')",
        // The other model.
        "select = document.querySelector('#nodes .model'), select.value = '1', select.dispatchEvent(new Event('input')), count() === 120",
        "document.querySelectorAll('figure svg').length >= 10",
        // Nothing is drawn outside of its picture, and no number is missing in it.
        "![...document.querySelectorAll('figure svg')].some((svg) => /NaN|Infinity|undefined/.test(svg.outerHTML))",
        "document.querySelector('button.save').click(), true",
    ];
    browser.eval("var robust, select");
    for truth in truths {
        assert_eq!(browser.eval(truth), true, "{truth}");
    }
    quiet(&browser, &page);
    // Every picture stands on its own as well-formed XML.
    let mut pictures = 0;
    for file in std::fs::read_dir(folder.path().join("report-figures")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "svg") {
            let text = serde_json::to_string(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let parsed = format!(
                "new DOMParser().parseFromString({text}, 'image/svg+xml').querySelector('parsererror') === null"
            );
            assert_eq!(browser.eval(&parsed), true, "{}", path.display());
            assert!(path.with_extension("csv").exists());
            pictures += 1;
        }
    }
    println!("{pictures} pictures");
    assert!(pictures >= 10);
}

/// As many rows as PubMed has nodes, each non-robust one with a dozen flips: small enough, and quick.
#[test]
fn twenty_thousand_nodes_open_and_filter_without_delay() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("many.parquet");
    let rows: Vec<NodeRecord> = (0..19_717).map(row).collect();
    write(&results, NodeRecord::SCHEMA, &rows).unwrap();
    let page = folder.path().join("many.html");
    gcnproof(&["report", results.to_str().unwrap(), "--out", page.to_str().unwrap()]);
    let size = std::fs::metadata(&page).unwrap().len();
    println!("the page of {} nodes has {size} bytes", rows.len());
    assert!(size < 10_000_000, "{size}");
    let Some(mut browser) = browser() else { return };
    let opened = browser.open(&page);
    quiet(&browser, &page);
    browser.eval(HELPERS);
    let mut timed = |what: &str| {
        let script =
            format!("(() => {{ const start = performance.now(); {what}; return performance.now() - start; }})()");
        browser.eval(&script).as_f64().unwrap()
    };
    let sorted = timed("sort('upper')");
    let filtered = timed("filter('degree', '> 20')");
    let words = timed("filter('attack', 'word 77 ')");
    println!(
        "opened in {opened:.0?}; sorted in {sorted:.0} ms, filtered in {filtered:.0} ms, words searched in {words:.0} ms"
    );
    // Generous, because the machines of tests are shared: on an idle one each is a tenth of it.
    assert!(sorted < 2000.0 && filtered < 1000.0 && words < 3000.0);
    assert_eq!(browser.eval("count() > 0 && cells('attack').every((x) => x.includes('word 77 '))"), true);
}

fn row(node: u64) -> NodeRecord {
    let broken = !node.is_multiple_of(3);
    let mix = |x: u64| node.wrapping_mul(6364136223846793005).wrapping_add(x.wrapping_mul(1442695040888963407)) >> 33;
    NodeRecord {
        graphs: false,
        node,
        label: Some(node % 3),
        predicted: mix(1) % 3,
        reference: mix(1) % 3,
        degree: mix(2) % 60,
        relevant: 1 + mix(3) % 2000,
        verdict: if broken { Verdict::NonRobust } else { Verdict::Robust },
        reason: if broken { Reason::Witness } else { Reason::AnchoredBound },
        search_nodes: 0,
        limit_hit: false,
        margins: (0..2)
            .map(|k| MarginRecord {
                class: k,
                lower: Some(mix(4 + k) as f64 / 1e6),
                upper: Some(mix(6 + k) as f64 / 1e5),
            })
            .collect(),
        witness: if broken {
            (0..12)
                .map(|i| Flip { node: (mix(10 + i) % 19_717) as u32, attribute: (mix(30 + i) % 500) as u32 })
                .collect()
        } else {
            Vec::new()
        },
        seconds: 1e-4 * (1 + mix(9) % 50) as f64,
        exact_margins: None,
        own: FlipColumns {
            paper_certifies: Some(node.is_multiple_of(6)),
            anchored_certifies: Some(!broken),
            ..FlipColumns::default()
        },
        contradiction: None,
    }
}
