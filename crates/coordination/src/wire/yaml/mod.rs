//! YAML in the form that ElasticJob 3.x writes.

mod analysis;
mod reader;
mod tree;
mod writer;

pub(crate) use reader::{Document, Value};
pub(crate) use writer::Writer;

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::Writer;

    /// A text with its forms in four places of a configuration by SnakeYAML 2.2 (ElasticJob 3.0.4).
    #[derive(Deserialize)]
    struct Row {
        text: String,
        value: String,
        nested: String,
        key: String,
        item: String,
    }

    fn written(write: impl FnOnce(&mut Writer)) -> String {
        let mut writer = Writer::default();
        write(&mut writer);
        writer.finish()
    }

    #[test]
    fn texts_have_the_bytes_of_java() {
        let rows = include_str!("../../../testdata/yaml-texts.jsonl").lines();
        let rows: Vec<Row> = rows.map(|row| serde_json::from_str(row).unwrap()).collect();
        assert!(rows.len() > 1_700, "{} rows", rows.len());
        for Row { text, value, nested, key, item } in rows {
            let fields = [
                (value, written(|w| w.text("jobParameter", &text))),
                (nested, written(|w| w.map("props", [("k", text.as_str())]))),
                (key, written(|w| w.map("props", [(text.as_str(), "v")]))),
                (item, written(|w| w.list("jobListenerTypes", [text.as_str()]))),
            ];
            for (expected, found) in fields {
                assert_eq!(found, expected, "{text:?}");
            }
        }
    }
}
