//! Texture and surface references of modules that the driver loaded. Their settings take effect at
//! the next launch of a kernel of the module.

use crate::array::Channels;
use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::module::{FatBinary, Reference, ReferenceKind, TextureDeclaration};
use crate::texture::{PLAIN, Sampler, Target};

/// Settings of a texture reference (`cuTexRefSet*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureReference {
    /// Memory that the texture reads, once it was set.
    pub target: Option<Target>,
    /// Format of the texels in linear memory. Arrays and pitched memory have their own.
    pub channels: Channels,
    /// True if integers are read as such. Otherwise those of 8 and 16 bits are read as floats.
    pub reads_integers: bool,
    /// Other settings. Whether integers are read as floats follows from the format.
    pub sampler: Sampler,
}

impl TextureReference {
    /// Settings of a reference that a program has not changed: clamped coordinates in texels,
    /// without filtering, and texels of one float.
    pub const NEW: Self = Self {
        target: None,
        channels: Channels {
            bits: [32, 0, 0, 0],
            kind: 2,
        },
        reads_integers: false,
        sampler: PLAIN,
    };
}

/// A reference with its settings.
pub(crate) struct ModuleReference {
    /// Name and module of the reference, or none if the program created it. No kernel reads that.
    own: Option<Reference>,
    settings: TextureReference,
    /// True if the settings have changed since they were bound.
    changed: bool,
}

impl ModuleReference {
    fn module(&self) -> Option<FatBinary> {
        self.own.as_ref().map(|own| own.module)
    }
}

impl Context {
    /// Handle of a texture reference of a module (`cuModuleGetTexRef`). Equal names give equal
    /// handles.
    ///
    /// # Errors
    /// The module has no such reference.
    pub fn module_texture(&mut self, module: u64, name: &str) -> Cuda<u64> {
        let texture = ReferenceKind::Texture(TextureDeclaration {
            dimensions: 0,
            normalized_read: false,
        });
        self.module_reference(module, name, texture)
    }

    /// Handle of a surface reference of a module (`cuModuleGetSurfRef`).
    ///
    /// # Errors
    /// The module has no such reference.
    pub fn module_surface(&mut self, module: u64, name: &str) -> Cuda<u64> {
        self.module_reference(module, name, ReferenceKind::Surface)
    }

    fn module_reference(&mut self, module: u64, name: &str, kind: ReferenceKind) -> Cuda<u64> {
        let module = self.driver_module(module)?;
        let known = |own: &Reference| (own.module, own.kind) == (module, kind) && own.name == name;
        let mut all = self.module_references.iter();
        if let Some((handle, _)) =
            all.find(|(_, reference)| reference.own.as_ref().is_some_and(known))
        {
            return Ok(*handle);
        }
        let (id, wanted) = (self.load(module)?, name.to_owned());
        let has = self.with(move |device| device.module(id).textures.contains(&wanted))?;
        if !has {
            return Err(CudaError::SYMBOL_NOT_FOUND);
        }
        let handle = self.handle();
        let reference = ModuleReference {
            own: Some(Reference {
                module,
                name: name.to_owned(),
                kind,
            }),
            settings: TextureReference::NEW,
            changed: false,
        };
        self.module_references.insert(handle, reference);
        Ok(handle)
    }

    /// Creates a texture reference of no module (`cuTexRefCreate`). Its settings can be changed
    /// and read.
    pub fn create_texture_reference(&mut self) -> u64 {
        let handle = self.handle();
        let reference = ModuleReference {
            own: None,
            settings: TextureReference::NEW,
            changed: false,
        };
        self.module_references.insert(handle, reference);
        handle
    }

    /// Removes a reference that the program created.
    ///
    /// # Errors
    /// There is no such reference, or it is one of a module.
    pub fn destroy_texture_reference(&mut self, handle: u64) -> Cuda {
        match self.module_references.get(&handle) {
            Some(ModuleReference { own: None, .. }) => {
                self.module_references.remove(&handle);
                Ok(())
            }
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    /// Settings of a texture or surface reference.
    pub fn texture_reference(&self, handle: u64) -> Cuda<TextureReference> {
        let own = self.module_references.get(&handle);
        own.map(|own| own.settings).ok_or(CudaError::INVALID_VALUE)
    }

    /// Changes the settings of a texture or surface reference.
    pub fn set_texture_reference(&mut self, handle: u64, settings: TextureReference) -> Cuda {
        if let Some(Target::Array(array)) = settings.target {
            self.array(array)?;
        }
        let own = self.module_references.get_mut(&handle);
        let own = own.ok_or(CudaError::INVALID_VALUE)?;
        (own.settings, own.changed) = (settings, true);
        Ok(())
    }

    /// Forgets the references of a module.
    pub(crate) fn forget_references(&mut self, module: FatBinary) {
        self.module_references
            .retain(|_, reference| reference.module() != Some(module));
    }

    /// Binds the references of a module whose settings have changed.
    pub(crate) fn bind_references(&mut self, module: FatBinary) -> Cuda {
        let changed = |own: &&mut ModuleReference| own.changed && own.module() == Some(module);
        let changed = self.module_references.values_mut().filter(changed);
        let bindings: Vec<_> = changed
            .filter_map(|own| {
                own.changed = false;
                Some((own.own.clone()?, own.settings, own.settings.target?))
            })
            .collect();
        for (own, settings, target) in bindings {
            let (target, texels) = self.texels(target, settings.channels)?;
            let sampler = Sampler {
                normalized_read: texels.is_small_integer() && !settings.reads_integers,
                ..settings.sampler
            };
            self.bind(own, target, &sampler)?;
        }
        Ok(())
    }

    /// Memory that a reference reads, and its format. Linear memory takes that of the reference.
    fn texels(&self, target: Target, own: Channels) -> Cuda<(Target, Channels)> {
        Ok(match target {
            Target::Array(array) => (target, self.array(array)?.channels),
            Target::Pitched { channels, .. } => (target, channels),
            Target::Mipmapped(_) => return Err(CudaError::INVALID_VALUE),
            Target::Linear { address, bytes, .. } => {
                let channels = own;
                let target = Target::Linear {
                    address,
                    channels,
                    bytes,
                };
                (target, channels)
            }
        })
    }
}
