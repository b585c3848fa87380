//! Address maps as text: one letter for each address bit, highest first, as in GPGPU-Sim's
//! `-gpgpu_mem_addr_mapping` after `dramid@N;`. The letters are `R` row, `B` bank, `C` column, `S`
//! offset within a burst (a part of the column) and `0` unused; `.`, `|`, `_` and blanks separate.

/// Masks of the address bits that each letter marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    pub bank: u64,
    pub row: u64,
    pub column: u64,
    pub burst: u64,
}

/// Parses a text into masks, or returns what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Masks, String> {
    let letters: Vec<char> = text.chars().filter(|c| !".|_ ".contains(*c)).collect();
    if letters.len() > 64 {
        return Err(format!(
            "{} letters, but an address has 64 bits",
            letters.len()
        ));
    }
    let mut masks = Masks::default();
    for (bit, letter) in letters.iter().rev().enumerate() {
        let mask = 1u64 << bit;
        match letter.to_ascii_uppercase() {
            'R' => masks.row |= mask,
            'B' => masks.bank |= mask,
            'C' => masks.column |= mask,
            'S' => {
                masks.column |= mask;
                masks.burst |= mask;
            }
            '0' => {}
            _ => return Err(format!("`{letter}` names no part of an address")),
        }
    }
    Ok(masks)
}

/// Prints masks as a text in groups of eight bits.
pub(crate) fn print(masks: Masks) -> String {
    let used = masks.bank | masks.row | masks.column | masks.burst;
    let bits = (u64::BITS - used.leading_zeros()).max(1);
    let mut text = String::new();
    for bit in (0..bits).rev() {
        let has = |mask: u64| mask >> bit & 1 == 1;
        text.push(match () {
            () if has(masks.burst) => 'S',
            () if has(masks.column) => 'C',
            () if has(masks.bank) => 'B',
            () if has(masks.row) => 'R',
            () => '0',
        });
        if bit % 8 == 0 && bit != 0 {
            text.push('.');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{parse, print};

    #[test]
    fn letters_become_masks_and_back() {
        let text = "RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS";
        let masks = parse(text).unwrap();
        assert_eq!(masks.row, 0x0fff_0000);
        assert_eq!(masks.bank, 0xe100);
        assert_eq!(masks.column, 0x1eff);
        assert_eq!(masks.burst, 0x3f);
        assert_eq!(print(masks), text);
    }

    #[test]
    fn bad_letters_and_too_many_are_refused() {
        assert!(parse("RRXC").unwrap_err().contains('X'));
        assert!(parse(&"R".repeat(65)).unwrap_err().contains("65"));
        assert_eq!(print(parse("").unwrap()), "0");
    }
}
