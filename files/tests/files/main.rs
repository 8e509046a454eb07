//! What is read and written, whole and damaged; one program, so that it is linked once.

#![allow(missing_docs)]

mod common;

mod descriptions;
mod graphs;
mod hostile;
mod matrices;
mod models;
mod real;
mod written;
