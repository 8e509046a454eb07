//! Removed edges: false verdicts, and proofs on which the two paths of the checker disagreed.
