//! The page on screens of different width, in the dark, and on paper: nothing is cut, nothing is invisible, no sheet is
//! empty.

use crate::explorer::{EXPLORER, hold, study};
use crate::{HELPERS, browser, gcnproof, quiet};

/// The bytes behind a text in base 64.
fn bytes(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => u32::from(c - b'A'),
        b'a'..=b'z' => u32::from(c - b'a') + 26,
        b'0'..=b'9' => u32::from(c - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut result = Vec::new();
    for chunk in text.trim_end_matches('=').as_bytes().chunks(4) {
        let word = chunk.iter().fold(0, |word, &c| word << 6 | digit(c)) << (6 * (4 - chunk.len()));
        result.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    result
}

/// The sizes of the contents of the sheets of a PDF file as Chromium writes it.
fn sheets(pdf: &[u8]) -> Vec<usize> {
    let text = String::from_utf8_lossy(pdf);
    let after = |text: &str, word: &str| -> Option<usize> {
        text.split(word).nth(1)?.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let pages = text.split("/Type /Page\n").skip(1);
    pages
        .filter_map(|page| {
            let object = after(page, "/Contents ")?;
            after(text.split(&format!("\n{object} 0 obj\n")).nth(1)?, "/Length ")
        })
        .collect()
}

/// No element of the page reaches beyond its right edge, but those in boxes that scroll.
const INSIDE: &str = "[...document.querySelectorAll('main *, header *')].filter((e) => e.getClientRects().length \
    && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 ).map((e) => e.outerHTML.slice(0, 80)).join('; ')";

/// Texts of a picture that lie over others, or beyond the edge.
const OVERPRINTED: &str = "[...document.querySelectorAll('figure svg')].filter((e) => e.getClientRects().length).flatMap((svg) => { \
    const edge = svg.getBoundingClientRect(), all = [...svg.querySelectorAll('text')].map((e) => [e.getBoundingClientRect(), e.textContent]); \
    return all.flatMap(([a, text], i) => a.left < edge.left - 1 || a.right > edge.right + 1 ? [text] : all.flatMap(([b, other], j) => \
      j <= i || a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 4 || b.bottom <= a.top + 4 ? [] : [text + ' / ' + other])); \
    }).join('; ')";

#[test]
fn nothing_is_cut_on_any_screen() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = study(folder.path());
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (375, "light"), (375, "dark"), (800, "light")] {
        browser.pretend(width, scheme, "screen");
        browser.open_at(&page, "#node=1");
        browser.eval(HELPERS);
        browser.eval(EXPLORER);
        quiet(&browser, &page);
        hold(
            &mut browser,
            &[
                "document.documentElement.scrollWidth <= innerWidth",
                // A table that goes on to the right says so; on a phone there is none.
                "(() => { const box = document.querySelector('#nodes .scroll'); \
                  return document.querySelector('#nodes .cue').hidden === box.scrollWidth <= box.clientWidth + 1; })()",
                "(() => { const box = document.querySelector('#nodes .scroll').getBoundingClientRect(); \
                  return [...document.querySelectorAll('#nodes .c-verdict, #nodes .c-certified, #nodes .c-attacked')] \
                    .filter((e) => e.getClientRects().length).every((e) => e.getBoundingClientRect().right <= box.right + 1); })()",
                "document.querySelectorAll('#nodes td.c-verdict').length === 50",
                // A node that a link names is in sight: below the slider, which stays at the top.
                "(() => { const top = document.querySelector('.one').getBoundingClientRect().top; \
                  return top >= document.querySelector('.dial').getBoundingClientRect().bottom - 1 && top < innerHeight; })()",
            ],
        );
        assert_eq!(browser.eval(OVERPRINTED), "", "{width} {scheme}");
        if width == 1280 {
            // The headings of the table stay where they are while its rows move.
            hold(
                &mut browser,
                &[
                    "(() => { const box = document.querySelector('#nodes .scroll'), head = box.querySelector('thead'); box.scrollTop = 400; \
                    const apart = head.getBoundingClientRect().top - box.getBoundingClientRect().top, moved = box.scrollTop; box.scrollTop = 0; \
                    return moved > 300 && Math.abs(apart) < 2; })()",
                ],
            );
            // Everything that is shown at first fits.
            hold(&mut browser, &["document.querySelector('#nodes .cue').hidden"]);
            hold(
                &mut browser,
                &["document.querySelector('#nodes .more').click(), !document.querySelector('#nodes .cue').hidden"],
            );
        }
        if width == 375 {
            assert_eq!(browser.eval(INSIDE), "", "{scheme}");
            hold(&mut browser, &["getComputedStyle(document.querySelector('#nodes .sorting')).display !== 'none'"]);
        }
        if scheme == "dark" {
            hold(
                &mut browser,
                &[
                    "[...document.querySelectorAll('svg .dots')].every((e) => Number(getComputedStyle(e).strokeOpacity) > 0.9)",
                    "canvas.getContext('2d').getImageData(2, 2, 1, 1).data[0] < 60",
                ],
            );
        }
    }
}

/// One attack for the whole graph by itself: a page without a map and a table of nodes.
#[test]
fn the_page_of_one_attack_is_cut_nowhere() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (graph, model) = ("../fixtures/cora.npz", "../fixtures/cora_pyg.safetensors");
    let base = ["collective", graph, model, "--nodes", "0-29", "-q", "2", "--swaps", "300"];
    for (name, budgets) in [("many", "0-6"), ("few", "3")] {
        let file = at(&format!("{name}.jsonl"));
        gcnproof(&[&base[..], &["--budgets", budgets, "--out", &file]].concat());
        let page = folder.path().join(format!("{name}.html"));
        gcnproof(&["report", &file, "--graph", graph, "--out", page.to_str().unwrap()]);
        for (width, scheme, medium) in [(1280, "light", "screen"), (375, "dark", "screen"), (718, "light", "print")] {
            browser.pretend(width, scheme, medium);
            browser.open(&page);
            quiet(&browser, &page);
            assert_eq!(browser.eval(INSIDE), "", "{name} {width}");
            let budgets = if name == "many" { 7 } else { 1 };
            hold(
                &mut browser,
                &[
                    "document.documentElement.scrollWidth <= innerWidth",
                    "[...document.querySelectorAll('figure svg')].filter((e) => e.getClientRects().length).length === 2",
                    &format!("document.querySelectorAll('.whole tbody tr').length === {budgets}"),
                ],
            );
        }
    }
}

#[test]
fn nothing_is_cut_on_paper() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = study(folder.path());
    for scheme in ["light", "dark"] {
        browser.pretend(1280, scheme, "");
        browser.open_at(&page, "#node=1");
        let sheets = sheets(&bytes(&browser.pdf()));
        assert!((6..20).contains(&sheets.len()), "{sheets:?}");
        assert!(sheets.iter().all(|size| *size > 500), "an empty sheet: {sheets:?}");
        quiet(&browser, &page);
        // The same layout as on the sheet of 190 mm, to be looked at.
        browser.pretend(718, scheme, "print");
        browser.eval("dispatchEvent(new Event('beforeprint'))");
        assert_eq!(browser.eval(INSIDE), "", "{scheme}");
        hold(
            &mut browser,
            &[
                "[...document.querySelectorAll('.scroll')].every((e) => getComputedStyle(e).overflowX === 'visible')",
                "[...document.querySelectorAll('nav, .bar, .files')].every((e) => getComputedStyle(e).display === 'none')",
                "document.querySelector('#nodes .printed').textContent.startsWith('This table shows nodes 1 to 50 of 120, with verdicts at Q = 4.')",
                "[...document.querySelectorAll('#nodes details')].every((e) => e.open)",
                "document.querySelectorAll('#nodes .scroll thead button, #nodes .scroll thead input').length === 0",
                "getComputedStyle(document.body).backgroundColor !== 'rgb(21, 24, 28)'",
                "document.querySelector('#nodes canvas').getContext('2d').getImageData(2, 2, 1, 1).data[0] === 255",
                // All rows, where they are asked for; and everything comes back on the screen.
                "dispatchEvent(new Event('afterprint')), document.querySelectorAll('#nodes .scroll thead button').length > 5",
                "(() => { const rows = document.querySelector('#nodes .rows'); rows.value = '0'; rows.dispatchEvent(new Event('input')); \
                  return document.querySelectorAll('#nodes .scroll tbody tr').length === 120 \
                    && document.querySelector('#nodes .printed').textContent.startsWith('This table shows all 120 nodes'); })()",
            ],
        );
    }
}
