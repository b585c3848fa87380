//! Allocation and initialisation of a module's variables in device memory.

use crate::memory::device::{DeviceMemory, MemoryError};
use warploom_ir::{GlobalVar, ModuleIr};

/// Addresses of a loaded module's variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedModule {
    /// Address of each variable, in the order of [`ModuleIr::globals`].
    pub globals: Vec<u64>,
}

/// Allocates the variables of a module in the address space `asid` and writes their initial values.
///
/// # Errors
/// Returns [`MemoryError::OutOfMemory`] if a variable does not fit.
pub fn load_module(
    module: &ModuleIr,
    memory: &mut DeviceMemory,
    asid: u8,
) -> Result<LoadedModule, MemoryError> {
    let place = |var: &GlobalVar| {
        if var.constant {
            memory.alloc_const(asid, var.bytes, var.align)
        } else {
            memory.alloc(asid, var.bytes)
        }
    };
    let globals = module
        .globals
        .iter()
        .map(place)
        .collect::<Result<Vec<u64>, _>>()?;
    for (var, &address) in module.globals.iter().zip(&globals) {
        // Variables without an initial value are zero rather than uninitialised.
        memory.fill(asid, address, 0, var.bytes)?;
        memory.write(asid, address, &initial_bytes(var, &globals))?;
    }
    Ok(LoadedModule { globals })
}

/// Initial bytes of a variable, with the addresses of other variables filled in.
fn initial_bytes(var: &GlobalVar, globals: &[u64]) -> Vec<u8> {
    let mut bytes = var.init.clone();
    bytes.truncate(var.bytes as usize);
    for relocation in &var.relocations {
        let target = globals
            .get(relocation.global as usize)
            .copied()
            .unwrap_or(0);
        let value = target.wrapping_add_signed(relocation.addend) >> relocation.shift;
        let (at, len) = (relocation.at as usize, relocation.bytes as usize);
        let end = (at + len).min(var.bytes as usize);
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        if let Some(place) = bytes.get_mut(at..end) {
            place.copy_from_slice(&value.to_le_bytes()[..place.len()]);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_ir::{CONST_BASE, GLOBAL_BASE, Relocation};

    fn var(name: &str, constant: bool, bytes: u64, init: Vec<u8>) -> GlobalVar {
        let (name, relocations) = (name.to_owned(), Vec::new());
        GlobalVar {
            name,
            constant,
            bytes,
            align: 8,
            init,
            relocations,
        }
    }

    #[test]
    fn variables_get_addresses_values_and_relocations() {
        let mut pointer = var("p", false, 8, Vec::new());
        let relocation = Relocation {
            at: 0,
            bytes: 8,
            global: 0,
            addend: 4,
            shift: 0,
        };
        pointer.relocations.push(relocation);
        let globals = vec![var("c", true, 12, vec![1, 2, 3]), pointer];
        let module = ModuleIr {
            kernels: Vec::new(),
            globals,
            textures: Vec::new(),
            address_bits: 64,
            refused: Vec::new(),
        };
        let mut memory = DeviceMemory::new(1 << 20);
        let image = load_module(&module, &mut memory, 0).unwrap();
        assert_eq!(image.globals, [CONST_BASE, GLOBAL_BASE]);
        let mut bytes = [0xff; 12];
        memory.read(0, CONST_BASE, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let mut bytes = [0; 8];
        memory.read(0, GLOBAL_BASE, &mut bytes).unwrap();
        assert_eq!(u64::from_le_bytes(bytes), CONST_BASE + 4);
    }
}
