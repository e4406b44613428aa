//! A reader of protobuf messages that checks every length: fields one after the other, nothing copied.

/// One field of a message.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field<'a> {
    /// An integer.
    Varint(u64),
    /// Eight bytes.
    Fixed64,
    /// A string, a message or packed numbers.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

/// The fields of a message.
pub(super) struct Message<'a> {
    left: &'a [u8],
}

/// The number of a field, and the field.
type Numbered<'a> = (u64, Field<'a>);

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// The next field, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Numbered<'a>>, String> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Varint(self.varint()?),
            1 => self.take(8).map(|_| Field::Fixed64)?,
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| cut(length, self.left.len()))?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Fixed32(u32::from_le_bytes(self.array()?)),
            other => return Err(format!("wire type {other} is unknown; the file is damaged or no ONNX model")),
        };
        Ok(Some((key >> 3, field)))
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0_u64;
        for i in 0..10 {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number has more than 10 bytes; the file is damaged or no ONNX model".into())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (first, rest) = self.left.split_first_chunk::<N>().ok_or_else(|| cut(N as u64, self.left.len()))?;
        self.left = rest;
        Ok(*first)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (first, rest) = self.left.split_at_checked(length).ok_or_else(|| cut(length as u64, self.left.len()))?;
        self.left = rest;
        Ok(first)
    }
}

fn cut(want: u64, left: usize) -> String {
    format!("the file ends early: {want} more bytes are announced, {left} are left")
}

impl<'a> Field<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err("a message is stored as a number; the file is damaged".into()),
        }
    }

    pub(super) fn text(self) -> Result<String, String> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|_| "a name is not UTF-8".to_string())?;
        Ok(text.to_owned())
    }

    /// An integer; negative numbers are stored as their two's complement.
    pub(super) fn integer(self) -> Result<i64, String> {
        match self {
            Self::Varint(x) => Ok(x as i64),
            _ => Err("an integer is stored as another type; the file is damaged".into()),
        }
    }

    /// Appends integers, packed or one at a time.
    pub(super) fn integers(self, out: &mut Vec<i64>) -> Result<(), String> {
        match self {
            Self::Varint(x) => out.push(x as i64),
            Self::Bytes(bytes) => {
                let mut packed = Message::new(bytes);
                while !packed.left.is_empty() {
                    out.push(packed.varint()? as i64);
                }
            }
            _ => return Err("integers are stored as another type; the file is damaged".into()),
        }
        Ok(())
    }

    /// Appends `f32` numbers, packed or one at a time.
    pub(super) fn floats(self, out: &mut Vec<f64>) -> Result<(), String> {
        match self {
            Self::Fixed32(bits) => out.push(f64::from(f32::from_bits(bits))),
            Self::Bytes(bytes) if bytes.len().is_multiple_of(4) => {
                out.extend(bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))));
            }
            _ => return Err("numbers of float32 are stored as another type; the file is damaged".into()),
        }
        Ok(())
    }
}
