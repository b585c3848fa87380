//! GPU specifications: keys, presets, overrides, validation.
