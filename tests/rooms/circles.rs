//! Circles of files: which file of a crate imports from which, and which of them reach themselves.
//!
//! An import counts for the file that defines the name, so that a module that re-exports its parts stands in no circle
//! with them.

use std::collections::{BTreeMap, BTreeSet};

/// A module by its path in the crate; the root is empty.
pub type Module = Vec<String>;

/// A name that a `use` brings in, and whether others can see it.
struct Import {
    path: Vec<String>,
    name: String,
    public: bool,
}

/// A file without comments and tests, and what it imports.
struct Source {
    code: String,
    /// The names that it defines.
    defined: BTreeSet<String>,
    imports: Vec<Import>,
}

/// The sources of a crate.
pub struct Sources(BTreeMap<Module, Source>);

/// What begins the definition of a name.
const DEFINES: [&str; 8] = ["struct", "enum", "trait", "type", "fn", "const", "static", "mod"];

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !is_letter(c)).filter(|word| !word.is_empty())
}

/// All paths `a::b::c` of some code.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for text in code.split(|c: char| !is_letter(c) && c != ':') {
        let parts: Vec<String> = text.split("::").map(str::to_owned).collect();
        if parts.len() > 1 && parts.iter().all(|part| !part.is_empty() && !part.contains(':')) {
            found.push(parts);
        }
    }
    found
}

/// The names of a `use`, `a::{b, c as d}`, behind the path before it.
fn names(before: &[String], tree: &str, public: bool, found: &mut Vec<Import>) {
    let tree = tree.trim();
    let segments = |text: &str| -> Vec<String> {
        let parts = text.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned);
        before.iter().cloned().chain(parts).collect()
    };
    let Some(open) = tree.find('{') else {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
        let mut path = segments(path);
        path.pop_if(|last| last == "self");
        let Some(last) = path.last().cloned() else { return };
        found.push(Import { path, name: alias.map_or(last, str::to_owned), public });
        return;
    };
    let inside = tree[open + 1..].trim_end().strip_suffix('}').unwrap_or("");
    let (before, mut depth, mut start) = (segments(&tree[..open]), 0, 0);
    for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names(&before, &inside[start..at], public, found);
                start = at + 1;
            }
            _ => {}
        }
    }
}

impl Sources {
    /// From the files of a crate, by their paths below its `src`.
    pub fn new(files: impl Iterator<Item = (String, String)>) -> Sources {
        let mut sources = BTreeMap::new();
        for (name, text) in files {
            let mut module: Module = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            module.pop_if(|last| last == "mod" || last == "lib");
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
            let (mut code, mut imports) = (String::new(), Vec::new());
            let mut lines = text.lines();
            while let Some(line) = lines.next() {
                let begins = |before: &str| before.is_empty() || before.starts_with("pub") && !before.contains(' ');
                let Some((before, tree)) = line.split_once("use ").filter(|(before, _)| begins(before.trim())) else {
                    code.extend([line, "\n"]);
                    continue;
                };
                let mut tree = tree.to_owned();
                while !tree.contains(';') {
                    tree.push_str(lines.next().unwrap_or(";"));
                }
                names(&[], tree.trim_end().trim_end_matches(';'), before.contains("pub"), &mut imports);
            }
            let after: Vec<&str> = words(&code).collect();
            let defined = after.windows(2).filter(|pair| DEFINES.contains(&pair[0])).map(|pair| pair[1].to_owned());
            let defined = defined.collect();
            sources.insert(module, Source { code, defined, imports });
        }
        Sources(sources)
    }

    /// The path of a name from the root of the crate; none for other crates.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let ups = path.iter().take_while(|part| *part == "super").count();
        match path[0].as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module, &path[1..]].concat()),
            "super" => Some([&module[..module.len().checked_sub(ups)?], &path[ups..]].concat()),
            first => {
                let child = [module.as_slice(), &[first.to_owned()]].concat();
                let own = self.0.contains_key(&child) || self.defines(module, first);
                own.then(|| [module.as_slice(), path].concat())
            }
        }
    }

    fn defines(&self, module: &Module, name: &str) -> bool {
        self.0[module].defined.contains(name)
    }

    /// The module that defines a name, which may be re-exported elsewhere.
    fn definer(&self, path: &[String], depth: usize) -> Module {
        if self.0.contains_key(path) {
            return path.to_vec();
        }
        let known = (0..path.len()).rev().find(|&length| self.0.contains_key(&path[..length]));
        let module = path[..known.unwrap_or(0)].to_vec();
        let Some(name) = path.get(module.len()).filter(|name| depth < 8 && !self.defines(&module, name)) else {
            return module;
        };
        let glob = |import: &&Import| import.name == "*";
        let imports = &self.0[&module].imports;
        let named = imports.iter().find(|import| import.name == *name).or(imports.iter().find(glob));
        let Some(import) = named else { return module };
        let mut path = import.path.clone();
        if import.name == "*" {
            path.pop();
            path.push(name.clone());
        }
        self.absolute(&module, &path).map_or(module, |path| self.definer(&path, depth + 1))
    }

    /// The modules that a module imports from.
    fn imports(&self, module: &Module) -> BTreeSet<Module> {
        let Source { code, imports, .. } = &self.0[module];
        let mut found = BTreeSet::new();
        let mut modules = BTreeMap::new();
        for import in imports {
            let Some(path) = self.absolute(module, &import.path) else { continue };
            if self.0.contains_key(&path) {
                modules.insert(&import.name, path);
            } else if !import.public {
                found.insert(self.definer(&path, 0));
            }
        }
        for path in paths(code) {
            let path = match modules.get(&path[0]) {
                Some(known) => Some([known, &path[1..]].concat()),
                None => self.absolute(module, &path),
            };
            found.extend(path.map(|path| self.definer(&path, 0)));
        }
        found.remove(module);
        found
    }

    /// Files that import from each other, directly or by way of others, together.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let direct: BTreeMap<&Module, BTreeSet<Module>> =
            self.0.keys().filter(|module| !module.is_empty()).map(|module| (module, self.imports(module))).collect();
        let reached = |from: &Module| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = open.pop() {
                for next in direct.get(&module).into_iter().flatten() {
                    if seen.insert(next.clone()) {
                        open.push(next.clone());
                    }
                }
            }
            seen
        };
        let all: BTreeMap<&Module, BTreeSet<Module>> = direct.keys().map(|&module| (module, reached(module))).collect();
        let mut circles = BTreeSet::new();
        for (&module, reached) in all.iter().filter(|(module, reached)| reached.contains(**module)) {
            let back = reached.iter().filter(|other| all.get(other).is_some_and(|from| from.contains(module)));
            circles.insert(back.map(|module| module.join("/")).collect::<Vec<_>>());
        }
        circles.into_iter().collect()
    }
}
