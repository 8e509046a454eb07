//! Limits of time that were not honoured, and contradictions that were not reported.
