//! The repository's own rules, checked over its files: who may import whom, file lengths, module heads, migrations.
//!
//! Each rule fails with one line per offence, so that the line alone says what to change.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// A file longer than this is two files.
const LONGEST_FILE: usize = 600;

/// The stages in the order a message meets them: a stage may hand over to later ones, never call earlier ones.
const STAGES: [&str; 8] = ["inbox", "debounce", "turns", "tools", "guard", "approvals", "evidence", "outbox"];
const EDGES: [&str; 5] = ["channels", "model", "calendar", "mail", "mcp"];
/// Compose or map everything, so they may name everything.
const OUTER: [&str; 5] = ["app", "cli", "config", "bin", "lib"];

/// The modules that `module` may import beside itself; `None`: all of them.
fn allowed(module: &str, file: &str) -> Option<BTreeSet<&'static str>> {
    let set = |names: &[&'static str]| Some(names.iter().copied().collect::<BTreeSet<_>>());
    match module {
        "domain" => set(&[]),
        "runtime" => set(&["domain"]),
        "store" => set(&["domain", "runtime"]),
        "audit" => set(&["domain", "runtime", "store"]),
        // The local calendar is rows of our own database.
        "calendar" if file.ends_with("calendar/local.rs") || file.contains("calendar/local/") => {
            set(&["domain", "runtime", "store"])
        }
        edge if EDGES.contains(&edge) => set(&["domain", "runtime"]),
        "schedules" | "memory" => set(&["domain", "runtime", "store", "audit"]),
        "api" => {
            let mut names = vec!["domain", "runtime", "store", "audit", "schedules", "memory"];
            names.extend(STAGES);
            set(&names)
        }
        outer if OUTER.contains(&outer) => None,
        stage => {
            let place = STAGES.iter().position(|name| *name == stage)?;
            let mut names = vec!["domain", "runtime", "store", "audit", "schedules", "memory"];
            names.extend(&STAGES[place + 1..]);
            set(&names)
        }
    }
}

#[test]
fn imports_follow_the_arrows() {
    let known: BTreeSet<String> = std::fs::read_dir(root().join("src"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let mut offences = Vec::new();
    for file in sources("src") {
        let name = relative(&file);
        if is_test_file(&name) {
            continue;
        }
        let module = module_path(&name);
        let top = module.first().cloned().unwrap_or_else(|| "lib".to_owned());
        assert!(
            OUTER.contains(&top.as_str()) || allowed(&top, &name).is_some(),
            "{name}: the module `{top}` stands in no row of the table of arrows"
        );
        let Some(may) = allowed(&top, &name) else { continue };
        let mut paths = Paths { module, found: BTreeSet::new() };
        paths.visit_file(&parse(&file));
        for target in paths.found {
            if known.contains(&target) && target != top && !may.contains(target.as_str()) {
                offences.push(format!("{name}: `{top}` may not import `{target}`"));
            }
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn only_one_file_of_the_window_talks_to_tauri() {
    let offences: Vec<String> = files_under("ui/src", &["ts", "svelte"])
        .into_iter()
        .filter(|file| !relative(file).ends_with("ui/src/ipc/tauri.ts"))
        .filter(|file| text(file).lines().any(|line| line.contains("@tauri-apps/") && !line.trim().starts_with("//")))
        .map(|file| format!("{}: only ui/src/ipc/tauri.ts may import @tauri-apps", relative(&file)))
        .collect();
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn the_shell_names_only_the_hosting_modules() {
    let mut offences = Vec::new();
    for file in sources("src-tauri/src") {
        for line in text(&file).lines().filter(|line| !line.trim().starts_with("//")) {
            for rest in line.split("unavez::").skip(1) {
                let names: Vec<&str> = match rest.strip_prefix('{') {
                    Some(group) => group.split('}').next().unwrap_or_default().split(',').map(str::trim).collect(),
                    None => vec![rest],
                };
                for name in names {
                    let module: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                    if !module.is_empty() && !["api", "app", "cli", "config"].contains(&module.as_str()) {
                        offences.push(format!("{}: the shell may not name `unavez::{module}`", relative(&file)));
                    }
                }
            }
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn files_stay_short_enough_to_read() {
    let mut offences = Vec::new();
    for file in code_files() {
        let lines = text(&file).lines().count();
        if lines > LONGEST_FILE {
            offences.push(format!("{}: {lines} lines, at most {LONGEST_FILE}", relative(&file)));
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn every_module_says_what_it_is_for_and_mod_files_hold_no_logic() {
    let mut offences = Vec::new();
    for file in sources("src").into_iter().chain(sources("src-tauri/src")) {
        let name = relative(&file);
        let parsed = parse(&file);
        let documented = parsed.attrs.iter().any(|attribute| attribute.path().is_ident("doc"));
        if !documented && !is_test_file(&name) {
            offences.push(format!("{name}: has no `//!` head"));
        }
        if (name.ends_with("/mod.rs") || name == "src/lib.rs") && !is_test_file(&name) {
            let logic = parsed.items.iter().any(|item| {
                !matches!(item, syn::Item::Mod(module) if module.content.is_none() || is_test_only(&module.attrs))
                    && !matches!(item, syn::Item::Use(_))
            });
            if logic {
                offences.push(format!("{name}: holds more than documentation and re-exports"));
            }
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn migrations_are_never_changed() {
    let pinned = text(&root().join("tests/migrations.sha256"));
    let present: Vec<String> = files_under("src/store/migrations", &["sql"])
        .into_iter()
        .map(|file| {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            format!("{}  {name}", unavez::runtime::hash::sha256_hex(std::fs::read(&file).unwrap()))
        })
        .collect();
    let pinned: Vec<&str> = pinned.lines().collect();
    assert_eq!(
        pinned, present,
        "a migration differs from tests/migrations.sha256: add a new one instead of changing a released one, \
         and pin it with `scripts/pin-migrations.sh`"
    );
}

#[test]
fn tracked_files_name_no_machine_and_no_private_registry() {
    let registry = ["registry", "+http"].concat();
    let mut offences = Vec::new();
    for file in tracked() {
        let name = relative(&file);
        let Ok(content) = std::fs::read_to_string(&file) else { continue };
        if name.starts_with("data/") {
            continue; // chat of strangers: they may talk about whatever paths they like
        }
        let lock = name.ends_with(".lock") || name.ends_with("package-lock.json");
        for (number, line) in content.lines().enumerate() {
            let machine = !lock && ["/home/", "/root/", "/Users/"].iter().any(|start| names_path(line, start));
            let foreign = (line.contains(&registry) && !line.contains("github.com/rust-lang/crates.io-index"))
                || (line.contains("\"resolved\":") && !line.contains("https://registry.npmjs.org/"));
            if machine || foreign {
                offences.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

/// `start` begins an absolute path here, not the middle of a URL or of a longer path.
fn names_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + start.len()..].chars().next();
        before.is_none_or(|c| !(c.is_alphanumeric() || "._~$@/-*}".contains(c)))
            && after.is_some_and(|c| c.is_alphanumeric())
    })
}

// ---- reading the repository ---------------------------------------------------------------------

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn relative(file: &Path) -> String {
    file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", relative(file)))
}

fn files_under(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !["node_modules", "dist", "bindings", ".cache", "target"].iter().any(|name| path.ends_with(name)) {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|ext| extensions.iter().any(|wanted| ext == *wanted)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn sources(folder: &str) -> Vec<PathBuf> {
    files_under(folder, &["rs"])
}

fn code_files() -> Vec<PathBuf> {
    ["src", "src-tauri/src", "tests", "benches"]
        .iter()
        .flat_map(|folder| sources(folder))
        .chain(files_under("ui/src", &["ts", "svelte", "css"]))
        // The catalogues are data: one line per sentence.
        .filter(|file| !relative(file).starts_with("ui/src/i18n/"))
        .collect()
}

/// What git knows; without git (a source archive) the folders that hold text.
fn tracked() -> Vec<PathBuf> {
    let listed = std::process::Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    match listed {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(|name| root().join(name))
            .filter(|path| path.is_file())
            .collect(),
        _ => code_files(),
    }
}

fn parse(file: &Path) -> syn::File {
    syn::parse_file(&text(file)).unwrap_or_else(|error| panic!("{}: {error}", relative(file)))
}

fn is_test_file(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.contains("/tests/")
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("test"))
    })
}

/// `src/guard/words/es.rs` is `[guard, words, es]`.
fn module_path(name: &str) -> Vec<String> {
    let inner = name.trim_start_matches("src/").trim_end_matches(".rs");
    inner.split('/').filter(|part| *part != "mod" && *part != "lib").map(str::to_owned).collect()
}

/// Collects the top modules that a file names by `crate::` or by enough `super::`.
struct Paths {
    module: Vec<String>,
    found: BTreeSet<String>,
}

impl Paths {
    fn note(&mut self, segments: &[String]) {
        let supers = segments.iter().take_while(|segment| *segment == "super").count();
        match segments.first().map(String::as_str) {
            Some("crate") => self.found.extend(segments.get(1).cloned()),
            Some("super") if supers >= self.module.len() => self.found.extend(segments.get(supers).cloned()),
            _ => {}
        }
    }

    fn walk_use(&mut self, tree: &syn::UseTree, prefix: &[String]) {
        let with = |name: String| {
            let mut path = prefix.to_vec();
            path.push(name);
            path
        };
        match tree {
            syn::UseTree::Path(path) => self.walk_use(&path.tree, &with(path.ident.to_string())),
            syn::UseTree::Name(name) => self.note(&with(name.ident.to_string())),
            syn::UseTree::Rename(name) => self.note(&with(name.ident.to_string())),
            syn::UseTree::Glob(_) => self.note(prefix),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.walk_use(item, prefix)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test_only(&item.attrs) {
            self.walk_use(&item.tree, &[]);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&segments);
        syn::visit::visit_path(self, path);
    }

    /// Macro arguments are not parsed: their `crate::` paths are read from the tokens.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let tokens = call.tokens.to_string();
        for rest in tokens.split("crate ::").skip(1) {
            let name: String = rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            self.note(&["crate".to_owned(), name]);
        }
        syn::visit::visit_macro(self, call);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_test_only(&item.attrs) {
            return;
        }
        self.module.push(item.ident.to_string());
        syn::visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }
}
