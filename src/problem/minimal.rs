//! Witnesses from which nothing can be left out, whatever the attacker.

/// A witness from which nothing can be left out, and what it breaks. `changes` come with the most harmful first;
/// `breaks` says what some of them break, if they break anything. `None` if all of them together do not.
pub(crate) fn minimal<C: Copy, B>(changes: &[C], mut breaks: impl FnMut(&[C]) -> Option<B>) -> Option<(Vec<C>, B)> {
    let (count, mut broken) = (0..=changes.len()).find_map(|count| Some((count, breaks(&changes[..count])?)))?;
    let mut kept = changes[..count].to_vec();
    // Without one change, another may have become needless as well: until a whole round leaves nothing out.
    let mut shorter = true;
    while shorter {
        shorter = false;
        for at in (0..kept.len()).rev() {
            let left_out = kept.remove(at);
            match breaks(&kept) {
                Some(still) => (broken, shorter) = (still, true),
                None => kept.insert(at, left_out),
            }
        }
    }
    Some((kept, broken))
}
