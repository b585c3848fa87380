//! Errors as exceptions of the Python package (`python/warploom/errors.py`).

use pyo3::prelude::*;
use pyo3::types::PyAnyMethods;
use warploom_run::RunError;

/// Exception for an error in the user's input. The message has the place and the remedy.
pub fn input_error(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "InputError", message)
}

/// Exception for a run that could not be made.
pub fn run_error(py: Python<'_>, error: &RunError) -> PyErr {
    input_error(py, &error.to_string())
}

/// Exception of the class `name` with this message.
pub fn exception(py: Python<'_>, name: &str, message: &str) -> PyErr {
    let made = py
        .import("warploom.errors")
        .and_then(|module| module.getattr(name))
        .and_then(|class| class.call1((message,)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
