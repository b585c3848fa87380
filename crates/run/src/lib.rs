//! Sessions: modules, buffers, launches, host programs, expectations.
