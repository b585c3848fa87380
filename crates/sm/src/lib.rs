//! The SM pipeline, one file a stage.
