//! Tests of kernels written in PTX: listings after lowering, facts that `ir` computes, places in
//! the source, code of real compilers, and damaged files.

mod corpus;
mod ends;
mod listings;
mod locations;
mod mutation;
mod switch_points;
