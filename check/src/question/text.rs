//! Texts from a file as they can be shown.

/// Characters of one text from a file that are shown, at most.
const SHOWN_TEXT: usize = 500;

/// A text from a file as it can be shown: control characters, terminal escapes, marks of direction and whatever else
/// has no shape of its own become `\u{…}`, a backslash is doubled, and a long text is cut.
pub fn visible(text: &str) -> String {
    let mut shown = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at == SHOWN_TEXT {
            shown.push('…');
            break;
        }
        match letter {
            '"' | '\'' => shown.push(letter),
            _ => shown.extend(letter.escape_debug()),
        }
    }
    shown
}

/// Message-passing rules as they can be shown.
pub(crate) fn shown_rules(rules: &[String]) -> String {
    visible(&rules.join(","))
}
