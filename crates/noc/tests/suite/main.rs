//! Tests of whole networks: order, conservation, saturation.

mod network;
mod saturation;
