//! Histograms of gaps, and their pictures.

use gcnproof_laboratory::histogram::{Bar, Histogram};
use gcnproof_laboratory::svg::draw;

#[test]
fn every_gap_is_counted_once() {
    for gaps in [vec![], vec![0.0], vec![0.0; 5], vec![-1.0, 0.0, 1e-9, 2.0, 3.5, 3.5, 100.0], vec![5.0, 5.0]] {
        assert_eq!(Histogram::linear(&gaps).total(), gaps.len(), "{gaps:?}");
        assert_eq!(Histogram::logarithmic(&gaps).total(), gaps.len(), "{gaps:?}");
    }
    assert_eq!(Histogram::linear(&[f64::NAN, f64::INFINITY, 1.0]).total(), 1);
}

#[test]
fn bars_are_where_they_should_be() {
    let histogram = Histogram::linear(&[0.0, 0.5, 1.0, 11.9]);
    assert_eq!(histogram.bars[0], Bar { label: "0".into(), count: 2 });
    assert_eq!(histogram.bars[1], Bar { label: "1".into(), count: 1 });
    assert_eq!(histogram.bars.len(), 13);
    let histogram = Histogram::logarithmic(&[-2.0, 0.0, 1e-8, 0.02, 0.05, 1.0]);
    let counts: Vec<_> = histogram.bars.iter().map(|bar| (bar.label.as_str(), bar.count)).collect();
    assert_eq!(counts[..3], [("< 0", 1), ("0", 2), ("0.01", 1)]);
    assert_eq!(counts[counts.len() - 2..], [("1", 1), ("3.162", 0)]);
}

#[test]
fn a_picture_has_every_count_and_legal_text() {
    let svg = draw(&Histogram::logarithmic(&[-1.0, 0.0, 0.0, 0.5]), "a < b & c", "gap");
    assert!(svg.contains("a &lt; b &amp; c") && svg.contains("&lt; 0") && svg.contains(">2</text>"));
    assert_eq!(svg.matches("<rect").count(), 1 + 3);
    assert!(draw(&Histogram::linear(&[]), "none", "gap").ends_with("</svg>\n"));
}
