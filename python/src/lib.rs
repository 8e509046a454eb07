//! The native module of the Python package: the library with Python's arrays, signals and exceptions. Python's own
//! layer, which users see, is in `gcnproof/`.

mod arrow;
mod asked;
mod attack;
mod call;
mod calls;
mod collective;
mod errors;
mod gathering;
mod inputs;
mod objects;
mod question;
mod rows;
mod runs;
mod training;

use pyo3::prelude::*;

/// As in the program: large buffers are asked for again and again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::calls::{build, check, interrupt};
    #[pymodule_export]
    use crate::collective::collective;
    #[pymodule_export]
    use crate::gathering::Gathering;
    #[pymodule_export]
    use crate::inputs::{Graph, Network, read_model};
    #[pymodule_export]
    use crate::question::Question;
    #[pymodule_export]
    use crate::rows::Rows;
    #[pymodule_export]
    use crate::runs::{report, study, train, validate};
    #[pymodule_export]
    use crate::training::{Certificates, loss_settings};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Nothing that a command says goes past Python.
        gcnproof_cli::output::capture();
        module.add("RULES", gcnproof_check::RULES)
    }
}
