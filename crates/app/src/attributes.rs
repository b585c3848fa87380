//! Attributes of streams and of kernel nodes. Most are only stored and returned.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use std::collections::BTreeMap;

/// Size of `cudaLaunchAttributeValue` in bytes.
pub const ATTRIBUTE_BYTES: usize = 64;

/// Value of an attribute in the layout of the header.
pub type AttributeValue = [u8; ATTRIBUTE_BYTES];

/// Attribute values by number (`cudaLaunchAttributeID`).
pub(crate) type Attributes = BTreeMap<i32, AttributeValue>;

/// Attribute `cudaLaunchAttributeAccessPolicyWindow` of a stream or node.
const WINDOW: i32 = 1;
/// Attribute `cudaLaunchAttributeCooperative` of a kernel node.
pub(crate) const COOPERATIVE: i32 = 2;
/// Attribute `cudaLaunchAttributeSynchronizationPolicy` of a stream or node.
const POLICY: i32 = 3;
/// Attribute `cudaLaunchAttributePriority` of a stream or node.
const PRIORITY: i32 = 8;
/// Attribute `cudaLaunchAttributeMemSyncDomainMap` of a stream or node.
const DOMAIN_MAP: i32 = 9;
/// Attribute `cudaLaunchAttributeMemSyncDomain` of a stream or node.
const DOMAIN: i32 = 10;

/// Attribute value that begins with a 32-bit number.
pub(crate) fn word(value: i32) -> AttributeValue {
    let mut bytes = [0; ATTRIBUTE_BYTES];
    bytes[..4].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// First 32-bit number of an attribute value.
pub(crate) fn first_word(value: &AttributeValue) -> i32 {
    let [a, b, c, d, ..] = *value;
    i32::from_le_bytes([a, b, c, d])
}

/// Default value of an attribute.
fn standard(number: i32) -> Cuda<AttributeValue> {
    match number {
        WINDOW | DOMAIN | PRIORITY | COOPERATIVE => Ok([0; ATTRIBUTE_BYTES]),
        // Value of `cudaSyncPolicyAuto`.
        POLICY => Ok(word(1)),
        // The default domain is 0, and the remote domain is 1.
        DOMAIN_MAP => {
            let mut map = [0; ATTRIBUTE_BYTES];
            map[1] = 1;
            Ok(map)
        }
        _ => Err(CudaError::INVALID_VALUE),
    }
}

/// Value of an attribute, given by the number that the runtime uses.
pub(crate) fn attribute_of(attributes: &Attributes, number: i32) -> Cuda<AttributeValue> {
    let standard = standard(number)?;
    Ok(attributes.get(&number).copied().unwrap_or(standard))
}

/// Checks that a stream has the attribute. Streams have no cooperative launches.
fn of_stream(number: i32) -> Cuda {
    match number {
        COOPERATIVE => Err(CudaError::INVALID_VALUE),
        other => standard(other).map(|_| ()),
    }
}

impl Context {
    /// Returns an attribute of a stream (`cudaStreamGetAttribute`).
    pub fn stream_attribute(&mut self, stream: u64, number: i32) -> Cuda<AttributeValue> {
        let (_, priority) = self.stream_facts(stream)?;
        of_stream(number)?;
        let stream = self.stream_key(stream)?;
        match self.stream_attributes.get(&stream) {
            Some(attributes) if attributes.contains_key(&number) => {
                attribute_of(attributes, number)
            }
            _ if number == PRIORITY => Ok(word(priority)),
            _ => standard(number),
        }
    }

    /// Stores an attribute of a stream. Attributes have no effect on the simulation.
    pub fn set_stream_attribute(
        &mut self,
        stream: u64,
        number: i32,
        value: AttributeValue,
    ) -> Cuda {
        self.stream_facts(stream)?;
        of_stream(number)?;
        let stream = self.stream_key(stream)?;
        let own = self.stream_attributes.entry(stream).or_default();
        own.insert(number, value);
        Ok(())
    }

    /// Copies the attributes of one stream to another.
    pub fn copy_stream_attributes(&mut self, to: u64, from: u64) -> Cuda {
        self.stream_facts(to)?;
        self.stream_facts(from)?;
        let (to, from) = (self.stream_key(to)?, self.stream_key(from)?);
        let set = self.stream_attributes.get(&from).cloned();
        self.stream_attributes.insert(to, set.unwrap_or_default());
        Ok(())
    }
}
