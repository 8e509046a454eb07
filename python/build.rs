//! Nothing to do: cargo looks at the build dependencies of a package only if it has a build script (see `Cargo.toml`).

fn main() {}
