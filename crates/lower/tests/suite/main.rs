//! Kernels written in PTX, lowered: their listings, facts that `ir` computes of them, real
//! compilers' code, and damaged files.

mod corpus;
mod ends;
mod listings;
mod mutation;
mod switch_points;
