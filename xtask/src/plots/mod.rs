//! `cargo xtask plots`: draws the plots of the documents from their figures.

mod svg;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Error, workspace};

/// Folder of the figures and of the plots, from the root of the workspace.
const FOLDER: &str = "docs/images/performance";

/// File with the figures of all plots, in [`FOLDER`].
const FIGURES: &str = "figures.json";

/// Largest number of series, which is the number of colors.
const MAX_SERIES: usize = 3;

/// A plot of bars: for each group one bar of each series.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plot {
    /// Name of the file, without its extension.
    name: String,
    title: String,
    unit: String,
    groups: Vec<String>,
    series: Vec<Series>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    name: String,
    /// A value above zero for each group.
    values: Vec<f64>,
}

/// Writes all plots beside their figures.
pub(crate) fn draw() -> Result<(), Error> {
    for (path, picture) in pictures(workspace())? {
        fs::write(&path, picture).map_err(Error::file("write", &path))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Returns the plots whose files are missing or have other figures, from the root of the workspace.
pub(crate) fn outdated(root: &Path) -> Result<Vec<String>, Error> {
    let pictures = pictures(root)?;
    let is_outdated = |(path, picture): &(PathBuf, String)| {
        fs::read_to_string(path).ok().as_ref() != Some(picture)
    };
    let outdated = pictures.iter().filter(|plot| is_outdated(plot));
    let relative = |(path, _): &(PathBuf, String)| {
        path.strip_prefix(root).unwrap_or(path).display().to_string()
    };
    Ok(outdated.map(relative).collect())
}

/// Returns each plot with the path of its file.
fn pictures(root: &Path) -> Result<Vec<(PathBuf, String)>, Error> {
    let path = root.join(FOLDER).join(FIGURES);
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let wrong = |reason: String| Error::Figures { path: path.clone(), reason };
    let plots = parse(&text).map_err(wrong)?;
    let file = |plot: &Plot| root.join(FOLDER).join(format!("{}.svg", plot.name));
    Ok(plots.iter().map(|plot| (file(plot), svg::draw(plot))).collect())
}

fn parse(text: &str) -> Result<Vec<Plot>, String> {
    let plots: Vec<Plot> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    plots.iter().try_for_each(check)?;
    Ok(plots)
}

fn check(plot: &Plot) -> Result<(), String> {
    let Plot { name, groups, series, .. } = plot;
    if groups.is_empty() || !(1..=MAX_SERIES).contains(&series.len()) {
        let (groups, series) = (groups.len(), series.len());
        return Err(format!(
            "{name} has {groups} groups and {series} series; valid are at least one group, and 1 \
             to {MAX_SERIES} series"
        ));
    }
    for Series { name: of, values } in series {
        if values.len() != groups.len() || !values.iter().all(|value| *value > 0.0) {
            return Err(format!(
                "{name}, {of}, has the values {values:?}; valid is a value above 0 for each of {} \
                 groups",
                groups.len()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot_with(series: &str) -> String {
        format!(
            r#"[{{"name": "p", "title": "t", "unit": "ms", "groups": ["a", "b"], "series": [{series}]}}]"#
        )
    }

    #[test]
    fn figures_that_cannot_be_drawn_are_rejected() {
        let one = r#"{"name": "s", "values": [1, 2.5]}"#;
        let rows = [
            ("valid", one.to_owned(), None),
            ("no series", String::new(), Some("2 groups and 0 series")),
            ("too many", [one; 4].join(","), Some("2 groups and 4 series")),
            ("too few values", r#"{"name": "s", "values": [1]}"#.to_owned(), Some("each of 2")),
            ("zero", r#"{"name": "s", "values": [1, 0]}"#.to_owned(), Some("[1.0, 0.0]")),
            ("a misspelt key", r#"{"name": "s", "value": [1, 2]}"#.to_owned(), Some("`value`")),
        ];
        for (case, series, expected) in rows {
            let error = parse(&plot_with(&series)).err();
            let is_expected = match (&error, expected) {
                (Some(error), Some(part)) => error.contains(part),
                (error, expected) => error.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{case}: {error:?}");
        }
    }

    #[test]
    fn plot_with_other_figures_is_outdated() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        let figures = |value: u32| {
            let series = format!(r#"{{"name": "s", "values": [1, {value}]}}"#);
            fs::write(folder.join(FIGURES), plot_with(&series)).unwrap();
        };
        figures(2);
        let missing = [format!("{FOLDER}/p.svg")];
        assert_eq!(outdated(root.path()).unwrap(), missing);
        for (path, picture) in pictures(root.path()).unwrap() {
            fs::write(path, picture).unwrap();
        }
        assert_eq!(outdated(root.path()).unwrap(), Vec::<String>::new());
        figures(3);
        assert_eq!(outdated(root.path()).unwrap(), missing);
    }
}
