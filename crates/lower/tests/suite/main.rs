//! Tests of kernels written in PTX: listings after lowering, facts that `ir` computes, code of real
//! compilers, and damaged files.

mod corpus;
mod ends;
mod listings;
mod mutation;
mod switch_points;
