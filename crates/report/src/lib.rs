//! Tables and pages: data in, bytes out.
