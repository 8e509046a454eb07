//! Small files that cost gigabytes or minutes.
