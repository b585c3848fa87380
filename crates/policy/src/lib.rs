//! Policy traits, read-only views and every built-in policy, one file each.
