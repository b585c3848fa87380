//! Declared statistics: name, unit, sentence; windows; result schema.
