//! Parser of `texture` lines of kernels: textures, surfaces and their values.

use crate::forms::job::Buffer;
use crate::forms::kernel::list;
use crate::forms::value::Kind;
use warploom_exec::{AddressMode, ChannelKind, Texture};

/// A texture of a test.
pub struct Bound {
    /// The texture's values, x fastest, and the expected contents after the run.
    pub memory: Buffer,
    texture: Texture,
}

impl Bound {
    /// Parses `name:type EXTENT word.. = values`. Words are address modes (the last one applies to
    /// the remaining axes), `linear`, `normalized`, `norm` (integers read as floats), `xN`
    /// channels, `layersN`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (head, values) = text.split_once('=').ok_or("`=` is missing")?;
        let mut words = head.split_whitespace();
        let (name, ty) = words
            .next()
            .and_then(|word| word.split_once(':'))
            .ok_or("`name:type` is missing")?;
        let kind = Kind::parse(ty)?;
        let extent = words.next().ok_or("an extent is missing")?;
        let sizes: Result<Vec<u32>, _> = extent.split('x').map(str::parse).collect();
        let sizes = sizes.map_err(|_| format!("`{extent}` is no extent"))?;
        let size = |axis: usize| sizes.get(axis).copied().unwrap_or(1);
        let mut bound = Self {
            memory: Buffer {
                name: name.to_owned(),
                kind,
                initial: Vec::new(),
                after: None,
            },
            texture: Texture {
                base: 0,
                width: size(0),
                height: size(1),
                depth: size(2),
                layers: 1,
                pitch: 0,
                channels: 1,
                channel_bits: kind.bits() as u8,
                kind: channel_kind(kind),
                normalized: false,
                address: [AddressMode::Clamp; 3],
                linear: false,
            },
        };
        let mut axis = 0;
        for word in words {
            bound.apply(word, &mut axis)?;
        }
        let texture = &mut bound.texture;
        texture.pitch = texture.width * u32::from(texture.channels) * kind.bits() / 8;
        let literals = list(values)?;
        let values: Result<_, _> = literals.iter().map(|value| kind.literal(value)).collect();
        bound.memory.initial = values?;
        if bound.memory.initial.len() == bound.elements() {
            Ok(bound)
        } else {
            Err(format!("{} values are needed", bound.elements()))
        }
    }

    fn apply(&mut self, word: &str, axis: &mut usize) -> Result<(), String> {
        let texture = &mut self.texture;
        let number = |prefix: &str| {
            word.strip_prefix(prefix)
                .and_then(|n| n.parse::<u32>().ok())
        };
        let mode = match word {
            "wrap" => Some(AddressMode::Wrap),
            "mirror" => Some(AddressMode::Mirror),
            "clamp" => Some(AddressMode::Clamp),
            "border" => Some(AddressMode::Border),
            _ => None,
        };
        match (word, mode, number("x"), number("layers")) {
            (_, Some(mode), _, _) => {
                texture.address[*axis..].fill(mode);
                *axis += 1;
            }
            (_, _, Some(channels), _) => texture.channels = channels as u8,
            (_, _, _, Some(layers)) => texture.layers = layers,
            ("linear", ..) => texture.linear = true,
            ("normalized", ..) => texture.normalized = true,
            ("norm", ..) => {
                texture.kind = match texture.kind {
                    ChannelKind::Signed => ChannelKind::SignedNormalized,
                    _ => ChannelKind::UnsignedNormalized,
                };
            }
            _ => return Err(format!("unknown word `{word}`")),
        }
        Ok(())
    }

    fn elements(&self) -> usize {
        let t = &self.texture;
        let texels = t.width * t.height * t.depth * t.layers;
        texels as usize * usize::from(t.channels)
    }

    /// The texture with its values at an address.
    pub fn at(&self, base: u64) -> Texture {
        Texture {
            base,
            ..self.texture
        }
    }
}

fn channel_kind(kind: Kind) -> ChannelKind {
    match kind {
        Kind::Int { signed: true, .. } => ChannelKind::Signed,
        Kind::Int { signed: false, .. } | Kind::Pred => ChannelKind::Unsigned,
        _ => ChannelKind::Float,
    }
}

#[test]
fn a_texture_is_read_from_its_line() {
    let bound = Bound::parse("t:u8 2x2 wrap border linear x2 = 0..7").expect("a correct line");
    let texture = bound.texture;
    assert_eq!((texture.width, texture.height, texture.pitch), (2, 2, 4));
    let border = AddressMode::Border;
    assert_eq!(texture.address, [AddressMode::Wrap, border, border]);
    assert!(texture.linear && bound.memory.initial == [0, 1, 2, 3, 4, 5, 6, 7]);
    for wrong in ["t:u8 2x2 = 1", "t:u8 = 1", "t:u8 1 odd = 1", "t 1 = 1"] {
        assert!(Bound::parse(wrong).is_err(), "{wrong}");
    }
}
