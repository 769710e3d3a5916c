//! Plots of the documents: each shows the present figures.

use std::path::Path;

use super::Violation;
use crate::{Error, plots};

pub(super) fn check(root: &Path) -> Result<Vec<Violation>, Error> {
    let rule = "plot does not show its figures; run `cargo xtask plots`";
    Ok(plots::outdated(root)?.iter().map(|path| Violation::new(path, 0, rule, "")).collect())
}
