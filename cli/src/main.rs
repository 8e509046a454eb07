//! The command line of gcnproof.

use std::process::ExitCode;

/// Training and large graphs ask for the same large buffers again and again: the system's allocator gives them back
/// each time, and the kernel clears them anew.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(gcnproof_cli::program::run())
}
