//! Tests over files: the corpus of good ones, broken ones with what is said about them, and
//! damaged ones that must only not panic.

mod broken;
mod corpus;
mod damage;
mod files;
