//! Parts of a map side by side: each turned so that it lies flat, the large ones first, the others on shelves below.

/// Room around each part.
const ROOM: f64 = 1.0;

/// How much wider than high a map is.
const ASPECT: f64 = 1.6;

/// The points of a part, turned so that they reach farther sideways than up and moved to begin at (0, 0), with their
/// size.
pub fn upright(points: Vec<(f64, f64)>) -> (Vec<(f64, f64)>, (f64, f64)) {
    let count = points.len().max(1) as f64;
    let middle = points.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / count, m.1 + p.1 / count));
    let centred: Vec<(f64, f64)> = points.iter().map(|p| (p.0 - middle.0, p.1 - middle.1)).collect();
    let sum = |of: fn(&(f64, f64)) -> f64| centred.iter().map(of).sum::<f64>();
    let (xx, xy, yy) = (sum(|p| p.0 * p.0), sum(|p| p.0 * p.1), sum(|p| p.1 * p.1));
    // The direction of the largest spread: the first eigenvector of the covariance.
    let largest = 0.5 * (xx + yy) + (0.25 * (xx - yy) * (xx - yy) + xy * xy).sqrt();
    let (a, b) = if xy != 0.0 {
        (xy, largest - xx)
    } else if xx >= yy {
        (1.0, 0.0)
    } else {
        (0.0, 1.0)
    };
    let length = (a * a + b * b).sqrt();
    let (a, b) = if length > 0.0 { (a / length, b / length) } else { (1.0, 0.0) };
    let turned: Vec<(f64, f64)> = centred.iter().map(|p| (a * p.0 + b * p.1, a * p.1 - b * p.0)).collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        turned.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |r, x| (r.0.min(x), r.1.max(x)))
    };
    let (x, y) = (range(|p| p.0), range(|p| p.1));
    if turned.is_empty() {
        return (turned, (0.0, 0.0));
    }
    (turned.iter().map(|p| (p.0 - x.0, p.1 - y.0)).collect(), (x.1 - x.0, y.1 - y.0))
}

/// A corner for each box, and the size of all of them together.
pub fn shelves(boxes: &[(f64, f64)]) -> (Vec<(f64, f64)>, (f64, f64)) {
    let area: f64 = boxes.iter().map(|b| (b.0 + ROOM) * (b.1 + ROOM)).sum();
    let widest = boxes.iter().map(|b| b.0 + 2.0 * ROOM).fold(0.0, f64::max);
    let width = widest.max((ASPECT * area).sqrt());
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by(|&x, &y| boxes[y].1.total_cmp(&boxes[x].1).then(x.cmp(&y)));
    let mut corners = vec![(0.0, 0.0); boxes.len()];
    let (mut x, mut y, mut height) = (ROOM, ROOM, 0.0f64);
    for at in order {
        let (wide, high) = boxes[at];
        if x > ROOM && x + wide + ROOM > width {
            (x, y, height) = (ROOM, y + height + ROOM, 0.0);
        }
        corners[at] = (x, y);
        x += wide + ROOM;
        height = height.max(high);
    }
    (corners, (width, y + height + ROOM))
}
