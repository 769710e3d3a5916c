//! The staged workspace: a copy of the crates that users depend on, with the names and manifests
//! that they have on a registry of packages.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, InlineTable, Item, TableLike, Value};

use crate::Error;
use crate::folders::{copy_folder, entries, recreate};

/// Begin of the names on a registry. Names such as `trigger` are taken there by others.
const FACADE: &str = "elastic-job";

/// Version of all crates of the workspace, and of their packages.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Parts of a crate's folder that are packed. Tests, benchmarks and examples use crates for
/// development, which are not published.
const PACKED: [&str; 5] = ["README.md", "assets", "build.rs", "migrations", "src"];

/// Keys of a manifest that describe what is not packed.
const UNPACKED_KEYS: [&str; 4] = ["bench", "dev-dependencies", "example", "test"];

/// A crate of the workspace, and its package on a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Name of the crate's folder, and of the crate in other manifests of the workspace.
    pub(crate) crate_name: String,
    /// Name on a registry.
    pub(crate) name: String,
    pub(crate) version: &'static str,
}

/// Returns the name on a registry of a crate of the workspace.
///
/// `job-history` is `elastic-job-history`, without a second `job`.
fn registry_name(crate_name: &str) -> String {
    match crate_name {
        FACADE => FACADE.to_owned(),
        _ => format!("{FACADE}-{}", crate_name.strip_prefix("job-").unwrap_or(crate_name)),
    }
}

/// Writes the staged workspace, and returns its packages by name.
///
/// The crates directly below `crates` are those that users depend on.
pub(super) fn write(root: &Path, staged: &Path) -> Result<Vec<Package>, Error> {
    let mut manifest = read(&root.join("Cargo.toml"))?;
    let mut packages: Vec<_> = entries(&root.join("crates"))?
        .iter()
        .filter(|folder| folder.join("Cargo.toml").is_file())
        .filter_map(|folder| folder.file_name()?.to_str())
        .map(|name| Package {
            crate_name: name.to_owned(),
            name: registry_name(name),
            version: VERSION,
        })
        .collect();
    packages.sort_by(|one, other| one.name.cmp(&other.name));
    // Cargo's lock file and its target folder stay, so that a second run is fast.
    recreate(&staged.join("crates"))?;
    edit_workspace(&mut manifest, &packages);
    write_file(&staged.join("Cargo.toml"), &manifest.to_string())?;
    copy(&root.join("Cargo.lock"), &staged.join("Cargo.lock"))?;
    for package in &packages {
        write_package(root, staged, package)?;
    }
    Ok(packages)
}

/// Leaves only the packages in the manifest of the workspace, each with its name and version.
fn edit_workspace(manifest: &mut DocumentMut, packages: &[Package]) {
    let members: toml_edit::Array =
        packages.iter().map(|package| format!("crates/{}", package.crate_name)).collect();
    let workspace = &mut manifest["workspace"];
    workspace["members"] = Item::Value(members.into());
    if let Some(table) = workspace.as_table_like_mut() {
        table.remove("exclude");
    }
    if let Some(table) = workspace["package"].as_table_like_mut() {
        table.remove("publish");
    }
    // Settings for single packages speed up the tests of the workspace.
    manifest.remove("profile");
    let Some(dependencies) = manifest["workspace"]["dependencies"].as_table_like_mut() else {
        return;
    };
    let local: Vec<String> = dependencies
        .iter()
        .filter(|(_, item)| item.get("path").is_some())
        .map(|(name, _)| name.to_owned())
        .collect();
    for name in local {
        match packages.iter().find(|package| package.crate_name == name) {
            Some(package) => name_package(dependencies, package),
            None => {
                dependencies.remove(&name);
            }
        }
    }
}

/// Gives a dependency of the workspace the name and the version of its package.
fn name_package(dependencies: &mut dyn TableLike, package: &Package) {
    let Some(dependency) =
        dependencies.get_mut(&package.crate_name).and_then(Item::as_inline_table_mut)
    else {
        return;
    };
    set(dependency, "package", &package.name);
    set(dependency, "version", package.version);
    dependency.fmt();
}

fn set(table: &mut InlineTable, key: &str, text: &str) {
    table.insert(key, Value::from(text));
}

/// Copies what is packed of a crate, and writes its manifest.
fn write_package(root: &Path, staged: &Path, package: &Package) -> Result<(), Error> {
    let from = root.join("crates").join(&package.crate_name);
    let to = staged.join("crates").join(&package.crate_name);
    fs::create_dir_all(&to).map_err(Error::file("create", &to))?;
    for part in PACKED.map(Path::new) {
        let source = from.join(part);
        match (source.is_dir(), source.is_file()) {
            (true, _) => copy_folder(&source, &to.join(part))?,
            (_, true) => copy(&source, &to.join(part))?,
            _ => {}
        }
    }
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&root.join(license), &to.join(license))?;
    }
    let readme = to.join("README.md");
    let text = fs::read_to_string(&readme).map_err(Error::file("read", &readme))?;
    write_file(&readme, &with_packed_links(&text))?;
    let mut manifest = read(&from.join("Cargo.toml"))?;
    edit_package(&mut manifest, package);
    write_file(&to.join("Cargo.toml"), &manifest.to_string())
}

/// Gives a crate the name of its package. In code, it keeps its own name.
fn edit_package(manifest: &mut DocumentMut, package: &Package) {
    let table = &mut manifest["package"];
    table["name"] = toml_edit::value(&package.name);
    // It builds the documentation of each package that is published.
    table["documentation"] = toml_edit::value(format!("https://docs.rs/{}", package.name));
    if let Some(table) = table.as_table_like_mut() {
        table.remove("publish");
    }
    let library = manifest.entry("lib").or_insert(toml_edit::table());
    library["name"] = toml_edit::value(package.crate_name.replace('-', "_"));
    for key in UNPACKED_KEYS {
        manifest.remove(key);
    }
    // `[target.'cfg(unix)'.dev-dependencies]` and the like.
    if let Some(targets) = manifest.get_mut("target").and_then(Item::as_table_like_mut) {
        for (_, target) in targets.iter_mut() {
            if let Some(target) = target.as_table_like_mut() {
                target.remove("dev-dependencies");
            }
        }
    }
}

/// Returns the README of a crate with links that work outside of the repository.
///
/// Links to other crates lead to their documentation. A package does not contain other files of the
/// repository, which has no address: the text of such a link is followed by the file's path.
fn with_packed_links(readme: &str) -> String {
    let mut text = String::with_capacity(readme.len());
    let mut first_path = None;
    let mut rest = readme;
    while let Some(start) = rest.find("](../") {
        let opening = rest[..start].rfind('[');
        let end = rest[start..].find(')').map(|length| start + length);
        let (Some(opening), Some(end)) = (opening, end) else { break };
        text.push_str(&rest[..opening]);
        let label = &rest[opening + 1..start];
        match PackedLink::of(&rest[start + "](".len()..end]) {
            PackedLink::Url(url) => text.push_str(&format!("[{label}]({url})")),
            PackedLink::Path(path) => {
                text.push_str(label);
                if !label.contains(&path) {
                    text.push_str(&format!(" (`{path}`)"));
                }
                first_path.get_or_insert(path);
            }
        }
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    if let Some(path) = first_path {
        text.push_str(&format!(
            "\nPaths such as `{path}` are in the source code of the project.\n"
        ));
    }
    text
}

/// A link of a crate's README, in a package.
enum PackedLink {
    Url(String),
    /// Path of a file in the repository.
    Path(String),
}

impl PackedLink {
    /// Returns the link for a target that begins with `../`.
    fn of(target: &str) -> Self {
        let (file, anchor) = target.split_once('#').map_or((target, None), |(f, a)| (f, Some(a)));
        let file = file.trim_start_matches("../");
        if target.starts_with("../../") {
            return Self::Path(file.to_owned());
        }
        match file.split_once('/').unwrap_or((file, "")) {
            (name, "" | "README.md") => {
                let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
                Self::Url(format!("https://docs.rs/{}{anchor}", registry_name(name)))
            }
            _ => Self::Path(format!("crates/{file}")),
        }
    }
}

fn read(path: &Path) -> Result<DocumentMut, Error> {
    let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
    text.parse().map_err(|source| Error::Manifest { path: path.to_owned(), source })
}

fn copy(from: &Path, to: &PathBuf) -> Result<(), Error> {
    fs::copy(from, to).map(drop).map_err(Error::file("copy", from))
}

fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry_contract() -> Package {
        Package {
            crate_name: "reg-center".to_owned(),
            name: registry_name("reg-center"),
            version: "0.1.0",
        }
    }

    #[test]
    fn names_begin_with_that_of_the_facade() {
        assert_eq!(registry_name("elastic-job"), "elastic-job");
        assert_eq!(registry_name("trigger"), "elastic-job-trigger");
        assert_eq!(registry_name("job-history"), "elastic-job-history");
    }

    #[test]
    fn staged_workspace_has_the_packages_only() {
        let text = "[workspace]\nmembers = [\"crates/reg-center\", \"xtask\"]\nexclude = [\"x\"]\n\
                    [workspace.package]\nversion = \"0.1.0\"\npublish = false\n\
                    [workspace.dependencies]\nreg-center = { path = \"crates/reg-center\" }\n\
                    mutants = { path = \"crates/dev/mutants\" }\nserde = \"1\"\n\
                    [profile.dev]\ndebug = 1\n";
        let mut manifest: DocumentMut = text.parse().expect("it is TOML");
        edit_workspace(&mut manifest, &[registry_contract()]);
        let expected = "[workspace]\nmembers = [\"crates/reg-center\"]\n\
                        [workspace.package]\nversion = \"0.1.0\"\n\
                        [workspace.dependencies]\nreg-center = { path = \"crates/reg-center\", \
                        package = \"elastic-job-reg-center\", version = \"0.1.0\" }\n\
                        serde = \"1\"\n";
        assert_eq!(manifest.to_string(), expected);
    }

    #[test]
    fn staged_package_keeps_the_name_of_its_library() {
        let text = "[package]\nname = \"reg-center\"\npublish.workspace = true\n\
                    [[test]]\nname = \"it\"\n[dependencies]\nserde.workspace = true\n\
                    [dev-dependencies]\nmutants.workspace = true\n\
                    [target.'cfg(unix)'.dev-dependencies]\nrustix.workspace = true\n";
        let mut manifest: DocumentMut = text.parse().expect("it is TOML");
        edit_package(&mut manifest, &registry_contract());
        let text = manifest.to_string();
        assert!(text.contains("name = \"elastic-job-reg-center\""), "{text}");
        assert!(text.contains("[lib]\nname = \"reg_center\""), "{text}");
        for gone in ["publish", "test", "dev-dependencies", "mutants", "rustix"] {
            assert!(!text.contains(gone), "{gone} is in {text}");
        }
    }

    #[test]
    fn links_of_packed_readmes_work_outside_of_the_repository() {
        let page = "See [the\npage](../../docs/a.md#part), [docs/b.md](../../docs/b.md), \
                    [this](https://example.org), [`x`](../job-types) and [y](../x/README.md#part), \
                    [z](../x/examples/z.rs).\n";
        let expected = "See the\npage (`docs/a.md`), docs/b.md, [this](https://example.org), \
                        [`x`](https://docs.rs/elastic-job-types) and \
                        [y](https://docs.rs/elastic-job-x#part), z (`crates/x/examples/z.rs`).\n\n\
                        Paths such as `docs/a.md` are in the source code of the project.\n";
        assert_eq!(with_packed_links(page), expected);
        let unchanged = "No [link](https://example.org) to a file.\n";
        assert_eq!(with_packed_links(unchanged), unchanged);
    }
}
