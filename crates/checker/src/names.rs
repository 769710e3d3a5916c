//! Interned names: instances and servers occur in every record, and numbers are cheap to compare.

use std::collections::BTreeMap;

/// Number of an interned name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(u32);

/// All interned names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    numbers: BTreeMap<String, Name>,
    texts: Vec<String>,
    servers: Vec<Option<Name>>,
}

impl Names {
    /// Returns the number of a name; a new name gets a new number.
    pub(crate) fn of(&mut self, text: &str) -> Name {
        if let Some(name) = self.numbers.get(text) {
            return *name;
        }
        // The server of `10.0.0.7@-@4123` is `10.0.0.7`.
        let server = text.split_once("@-@").map(|(server, _)| server.to_owned());
        let server = server.map(|server| self.of(&server));
        let name = Name(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.numbers.insert(text.to_owned(), name);
        self.texts.push(text.to_owned());
        self.servers.push(server);
        name
    }

    /// Returns the text of a name.
    pub(crate) fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("?", String::as_str)
    }

    /// Returns the server of an instance, or `None` if the name is not an instance id.
    pub(crate) fn server_of(&self, instance: Name) -> Option<Name> {
        self.servers.get(instance.0 as usize).copied().flatten()
    }
}
