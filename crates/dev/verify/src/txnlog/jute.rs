//! Jute, the encoding of ZooKeeper's records: big-endian numbers, and lengths before texts and
//! lists.

/// Reader of bytes from the front.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// Invalid bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("{wanted} bytes are needed and {left} are left")]
    TooShort { wanted: usize, left: usize },
    #[error("a length is {0}; valid is -1 or more")]
    Length(i32),
    #[error("a text is not UTF-8")]
    Text,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self, wanted: usize) -> Result<&'a [u8], Malformed> {
        let left = self.rest.len();
        let (taken, rest) =
            self.rest.split_at_checked(wanted).ok_or(Malformed::TooShort { wanted, left })?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn int(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(super) fn long(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    pub(super) fn boolean(&mut self) -> Result<bool, Malformed> {
        Ok(self.array::<1>()? != [0])
    }

    /// Reads bytes after their length; the length -1 stands for "no value" and gives no bytes.
    pub(super) fn buffer(&mut self) -> Result<&'a [u8], Malformed> {
        let n_bytes = self.length()?;
        self.take(n_bytes)
    }

    pub(super) fn text(&mut self) -> Result<String, Malformed> {
        let bytes = self.buffer()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Malformed::Text)
    }

    /// Reads a list after its length.
    pub(super) fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let length = self.length()?;
        // No space is reserved, because the length may be wrong.
        (0..length).map(|_| element(self)).collect()
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        match self.int()? {
            -1 => Ok(0),
            length => usize::try_from(length).map_err(|_| Malformed::Length(length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_order() {
        let bytes = [
            &[0, 0, 0, 7][..],
            &[255; 8],
            &[1, 0, 0, 0, 2],
            b"hi",
            &[0, 0, 0, 2, 0, 0, 0, 1, b'a', 0, 0, 0, 0],
            &[255; 4],
        ]
        .concat();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.int(), Ok(7));
        assert_eq!(reader.long(), Ok(-1));
        assert_eq!(reader.boolean(), Ok(true));
        assert_eq!(reader.text().as_deref(), Ok("hi"));
        assert_eq!(reader.list(Reader::text), Ok(vec!["a".to_owned(), String::new()]));
        assert_eq!(reader.buffer(), Ok(&[][..]), "no value");
        assert_eq!(reader.int(), Err(Malformed::TooShort { wanted: 4, left: 0 }));
    }

    #[test]
    fn invalid_lengths_and_texts_are_rejected() {
        let rows = [
            ("negative", vec![255, 255, 255, 254], Malformed::Length(-2)),
            ("beyond the end", vec![0, 0, 1, 0, 9], Malformed::TooShort { wanted: 256, left: 1 }),
            ("no text", vec![0, 0, 0, 1, 0xff], Malformed::Text),
        ];
        for (case, bytes, expected) in rows {
            assert_eq!(Reader::new(&bytes).text(), Err(expected), "{case}");
        }
    }
}
