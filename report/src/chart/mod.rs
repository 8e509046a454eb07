//! Charts: plots with axes, lines, bands, bars and points as plain SVG.
//!
//! A [`Figure`](figure::Figure) is a grid of [`Plot`](plot::Plot)s with a caption and its numbers as CSV. Colours stand
//! in the attributes of every element, so that a file is right in any viewer; the classes beside them let a page adapt
//! them to a dark background. [`layout`] gives the nodes of a graph their places on a map.

pub mod axis;
pub mod figure;
pub mod layout;
pub mod palette;
pub mod plot;
pub mod svg;
