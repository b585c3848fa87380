//! Executable form of PTX: lowering, control flow, liveness, facts. Knows no time.
