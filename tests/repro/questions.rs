//! Proof files that chose their own question.
