//! The canonical encoder: a value in, the one text for it out.
//!
//! Nothing is chosen by chance or history: the text is a function of the value (and of the options),
//! byte for byte that of other canonical encoders. GCF 3.6 sections 5 to 7.

use super::table::{self, Choices, Class, Table, rows};
use super::tree::{Array, Builder, Elements, Key, KeyId, Node, Object, Tree};
use crate::gcf::error::{Code, Error, Fault};
use crate::gcf::limits::Limits;
use crate::gcf::syntax::append::push_short;
use crate::gcf::syntax::string::{write_quoted, write_value};
use crate::json;
use crate::value::Value;
use bumpalo::Bump;

/// What an encoder may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Whether objects of one form become columns `"a>b"` of the table that they are in.
    pub flatten: bool,
    /// Whether a column with one value in all rows moves into the header. Readers of GCF 3.6 do not
    /// all know it.
    pub constant_columns: bool,
    /// How deep the value may nest.
    pub limits: Limits,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self { flatten: true, constant_columns: false, limits: Limits::default() }
    }
}

/// The text of a value.
///
/// # Errors
/// `out_of_range` for an integer beyond 64 bits, `not_finite`, `duplicate_key`, `limit_exceeded` for a
/// value too deep.
pub fn encode(value: &Value<'_>, options: &EncodeOptions) -> Result<String, Error> {
    let bump = Bump::new();
    let mut builder = Builder::new(&bump, options.limits);
    value.emit(&mut builder)?;
    Ok(write(&builder.finish(), options))
}

/// The text of the value that a JSON text holds: numbers are exact, members keep their order.
///
/// # Errors
/// As [`encode`], and with line and column what is wrong with the JSON text: `duplicate_key`,
/// `invalid_surrogate`, `limit_exceeded`, `out_of_range`, otherwise `invalid_line`.
pub fn from_json(text: &str, options: &EncodeOptions) -> Result<String, Error> {
    let bump = Bump::new();
    let mut builder = Builder::new(&bump, options.limits);
    let limits = json::Limits { max_depth: options.limits.max_depth, ..Default::default() };
    match json::read(text, limits, &mut builder) {
        Ok(end) => {
            let rest = text[end..].trim_start_matches([' ', '\t', '\r', '\n']);
            if !rest.is_empty() {
                let message = "text behind the JSON value".to_owned();
                return Err(json_fault(
                    text,
                    text.len() - rest.len(),
                    Code::TrailingCharacters,
                    message,
                ));
            }
            Ok(write(&builder.finish(), options))
        }
        Err(json::ReadError::Sink(error)) => Err(error),
        Err(json::ReadError::Json(error)) => {
            let code = match error.problem {
                json::Problem::Syntax { .. } => Code::InvalidLine,
                json::Problem::Escape(_) | json::Problem::Control(_) => Code::InvalidEscape,
                json::Problem::Surrogate => Code::InvalidSurrogate,
                json::Problem::Duplicate(_) => Code::DuplicateKey,
                json::Problem::Depth(_) => Code::LimitExceeded,
                json::Problem::Digits(_) | json::Problem::Overflow => Code::OutOfRange,
            };
            Err(json_fault(text, error.offset, code, format!("JSON: {}", error.problem)))
        }
    }
}

#[cold]
fn json_fault(text: &str, at: usize, code: Code, message: String) -> Error {
    Fault { code, message, at }.locate(text)
}

/// The text of a tree.
pub fn write(tree: &Tree<'_>, options: &EncodeOptions) -> String {
    let mut writer = Writer { tree, options, out: String::with_capacity(1024) };
    writer.out.push_str("GCF profile=generic\n");
    writer.root();
    writer.out
}

/// Appends a key that is known to be bare or not.
fn write_known_key(key: Key<'_>, out: &mut String) {
    if key.bare {
        push_short(key.text, out);
    } else {
        write_quoted(key.text, out);
    }
}

struct Writer<'t, 'a> {
    tree: &'t Tree<'a>,
    options: &'t EncodeOptions,
    out: String,
}

/// What stands before a non-scalar, which decides how its columns may be declared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    /// `## name `
    Section,
    /// `@i ` or `.name `
    Item,
    /// `.name ` with columns that a row above has declared.
    Declared,
}

/// Rows and what cell 0 of each is, in a keyed table.
#[derive(Clone, Copy)]
struct Rows<'t, 'a> {
    nodes: &'t [Node<'a>],
    members: Option<&'t [KeyId]>,
}

const SPACES: &str = "                                                                ";

impl<'t, 'a> Writer<'t, 'a> {
    fn indent(&mut self, mut depth: usize) {
        while depth > 0 {
            let step = depth.min(SPACES.len());
            self.out.push_str(&SPACES[..step]);
            depth -= step;
        }
    }

    fn key(&mut self, key: KeyId) {
        write_known_key(self.tree.key(key), &mut self.out);
    }

    fn root(&mut self) {
        match self.tree.root {
            Node::Object(object) if object.keyed => {
                self.out.push_str("## ");
                self.keyed(object, 0, Prefix::Section);
            }
            Node::Object(object) => self.members(object, 0),
            Node::Array(array) => {
                self.out.push_str("## ");
                self.array(array, 0, Prefix::Section);
            }
            scalar => {
                self.out.push('=');
                scalar.write(&mut self.out);
                self.out.push('\n');
            }
        }
    }

    fn members(&mut self, object: Object, depth: usize) {
        let tree = self.tree;
        for (&key, &value) in tree.shape(object.shape).iter().zip(tree.values(object)) {
            self.indent(depth);
            self.member(key, value, depth);
        }
    }

    fn member(&mut self, key: KeyId, value: Node<'a>, depth: usize) {
        match value {
            Node::Array(array) if array.kind == Elements::Scalars => {
                self.key(key);
                self.list(array);
            }
            Node::Array(array) => {
                self.section(key);
                self.out.push(' ');
                self.array(array, depth, Prefix::Section);
            }
            Node::Object(object) if object.keyed => {
                self.section(key);
                self.out.push(' ');
                self.keyed(object, depth, Prefix::Section);
            }
            Node::Object(object) => {
                self.section(key);
                self.out.push('\n');
                self.members(object, depth + 2);
            }
            scalar => {
                self.key(key);
                self.out.push('=');
                scalar.write(&mut self.out);
                self.out.push('\n');
            }
        }
    }

    fn section(&mut self, key: KeyId) {
        self.out.push_str("## ");
        self.key(key);
    }

    /// What follows `@i ` or `.name `; its body stands at `depth`.
    fn item(&mut self, value: Node<'a>, depth: usize, prefix: Prefix) {
        match value {
            Node::Array(array) => self.array(array, depth, prefix),
            Node::Object(object) if object.keyed => self.keyed(object, depth, prefix),
            Node::Object(object) => {
                self.out.push_str("{}\n");
                self.members(object, depth);
            }
            scalar => {
                self.out.push('=');
                scalar.write(&mut self.out);
                self.out.push('\n');
            }
        }
    }

    fn count(&mut self, count: usize, close: &str) {
        self.out.push('[');
        self.out.push_str(itoa::Buffer::new().format(count));
        self.out.push_str(close);
    }

    /// An array from its bracket on; rows and items stand at `depth`.
    fn array(&mut self, array: Array, depth: usize, prefix: Prefix) {
        let elements = self.tree.elements(array);
        match array.kind {
            Elements::Empty => self.out.push_str("[0]\n"),
            Elements::Scalars => self.list(array),
            Elements::Rows => {
                self.count(elements.len(), "]");
                self.table(Rows { nodes: elements, members: None }, depth, prefix);
            }
            Elements::Mixed => {
                self.count(elements.len(), "]\n");
                for (index, &element) in elements.iter().enumerate() {
                    self.indent(depth);
                    self.id(index);
                    self.item(element, depth + 2, Prefix::Item);
                }
            }
        }
    }

    fn id(&mut self, index: usize) {
        self.out.push('@');
        self.out.push_str(itoa::Buffer::new().format(index));
        self.out.push(' ');
    }

    fn list(&mut self, array: Array) {
        let elements = self.tree.elements(array);
        self.count(elements.len(), "]: ");
        for (index, &element) in elements.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            element.write(&mut self.out);
        }
        self.out.push('\n');
    }

    fn keyed(&mut self, object: Object, depth: usize, prefix: Prefix) {
        let nodes = self.tree.values(object);
        self.count(nodes.len(), ":]");
        let members = Some(self.tree.shape(object.shape));
        self.table(Rows { nodes, members }, depth, prefix);
    }

    /// A table from its declaration on; rows stand at `depth`.
    fn table(&mut self, rows: Rows<'t, 'a>, depth: usize, prefix: Prefix) {
        let constants = prefix == Prefix::Section && rows.members.is_none();
        let choices = Choices {
            flatten: self.options.flatten,
            constants: constants && self.options.constant_columns,
        };
        if rows.members.is_none()
            && !choices.constants
            && let Some(keys) = table::simple(self.tree, rows.nodes)
        {
            if prefix != Prefix::Declared {
                self.names(keys);
            }
            self.out.push('\n');
            return self.simple_rows(rows.nodes, depth);
        }
        let table = table::plan(self.tree, rows.nodes, choices);
        if prefix != Prefix::Declared {
            self.declaration(&table, rows);
        }
        self.out.push('\n');
        self.rows(&table, rows, depth);
    }

    /// `{a,b}`
    fn names(&mut self, keys: &[KeyId]) {
        let mut between = '{';
        for &key in keys {
            self.out.push(between);
            between = ',';
            self.key(key);
        }
        self.out.push('}');
    }

    fn declaration(&mut self, table: &Table, rows: Rows<'t, 'a>) {
        let mut between = '{';
        if rows.members.is_some() {
            self.out.push('{');
            let mut label = "key".to_owned();
            while table.columns.iter().any(|column| self.tree.key(column.key).text == label) {
                label.insert(0, '_');
            }
            self.out.push_str(&label);
            between = ',';
        }
        for (i, column) in table.columns.iter().enumerate() {
            match column.class {
                Class::Bare => continue,
                Class::Flattened { form, .. } => {
                    let name = self.tree.key(column.key).text;
                    table::paths(self.tree, name, form.0, &mut |path| {
                        self.out.push(between);
                        write_quoted(path, &mut self.out);
                        between = ',';
                    });
                    continue;
                }
                Class::Plain | Class::Inline | Class::Constant => {}
            }
            self.out.push(between);
            between = ',';
            self.key(column.key);
            if column.class == Class::Constant {
                self.constant(table, rows.nodes, i);
            }
        }
        self.out.push('}');
    }

    fn constant(&mut self, table: &Table, nodes: &[Node<'a>], column: usize) {
        let first = rows(nodes).next().and_then(|row| table.cell(self.tree, (0, row), column));
        self.out.push('=');
        match first {
            Some(Node::String(text)) if text.contains('}') => write_quoted(text, &mut self.out),
            Some(scalar) => scalar.write(&mut self.out),
            None => {}
        }
    }

    /// Rows of nothing but scalars, with all columns.
    fn simple_rows(&mut self, nodes: &[Node<'a>], depth: usize) {
        let tree = self.tree;
        for row in rows(nodes) {
            self.indent(depth);
            for (i, &value) in tree.values(row).iter().enumerate() {
                if i > 0 {
                    self.out.push('|');
                }
                value.write(&mut self.out);
            }
            self.out.push('\n');
        }
    }

    fn rows(&mut self, table: &Table, all: Rows<'t, 'a>, depth: usize) {
        for (index, row) in rows(all.nodes).enumerate() {
            let blocks = table.has_blocks(self.tree, (index, row));
            self.indent(depth);
            if blocks {
                self.id(index);
            }
            let mut first = true;
            if let Some(members) = all.members {
                write_value(self.tree.key(members[index]).text, &mut self.out);
                first = false;
            }
            for (i, column) in table.columns.iter().enumerate() {
                if matches!(column.class, Class::Bare | Class::Constant) {
                    continue;
                }
                if !first {
                    self.out.push('|');
                }
                first = false;
                self.cell(table.cell(self.tree, (index, row), i), column.class, index == 0);
            }
            self.out.push('\n');
            if blocks {
                self.blocks(table, (index, row), depth);
            }
        }
    }

    fn cell(&mut self, value: Option<Node<'a>>, class: Class, first_row: bool) {
        match (class, value) {
            (Class::Flattened { leaves, .. }, None) => self.repeat('~', leaves),
            (Class::Flattened { .. }, Some(Node::Object(object))) => self.leaves(object),
            (Class::Flattened { leaves, .. }, Some(_)) => self.repeat('-', leaves),
            (_, None) => self.out.push('~'),
            (Class::Inline, Some(Node::Object(object))) if first_row => {
                self.out.push('^');
                self.names(self.tree.shape(object.shape));
            }
            (_, Some(Node::Array(_) | Node::Object(_))) => self.out.push('^'),
            (_, Some(scalar)) => scalar.write(&mut self.out),
        }
    }

    fn repeat(&mut self, cell: char, count: u32) {
        for i in 0..count {
            if i > 0 {
                self.out.push('|');
            }
            self.out.push(cell);
        }
    }

    fn leaves(&mut self, object: Object) {
        for (i, &value) in self.tree.values(object).iter().enumerate() {
            if i > 0 {
                self.out.push('|');
            }
            match value {
                Node::Object(inner) => self.leaves(inner),
                scalar => scalar.write(&mut self.out),
            }
        }
    }

    /// What stands below a row: blocks in the order of columns, then fields that are no columns.
    fn blocks(&mut self, table: &Table, row: (usize, Object), depth: usize) {
        let tree = self.tree;
        for i in table::of_class(table, |class| matches!(class, Class::Plain | Class::Inline)) {
            match table.cell(tree, row, i) {
                Some(Node::Object(object)) if table.columns[i].class == Class::Inline => {
                    self.indent(depth);
                    self.leaves(object);
                    self.out.push('\n');
                }
                Some(value) if !value.is_scalar() => self.block(table, row.0, i, value, depth),
                _ => {}
            }
        }
        for i in table::of_class(table, |class| class == Class::Bare) {
            if let Some(value) = table.cell(tree, row, i) {
                self.block(table, row.0, i, value, depth);
            }
        }
    }

    fn block(&mut self, table: &Table, row: usize, column: usize, value: Node<'a>, depth: usize) {
        let column = table.columns[column];
        self.indent(depth);
        self.out.push('.');
        self.key(column.key);
        self.out.push(' ');
        let prefix = if column.shared && row > 0 { Prefix::Declared } else { Prefix::Item };
        self.item(value, depth + 4, prefix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::error::Place;

    fn encoded(json: &str) -> Result<String, Error> {
        let value = json::parse(json, json::Limits::default()).unwrap();
        encode(&value, &EncodeOptions::default())
    }

    #[test]
    fn a_value_has_the_text_of_its_json() {
        for (json, text) in [
            ("1.50", "=1.5\n"),
            ("{}", ""),
            (r#"{"a":[1,"x|y",null],"b":{"c":{}}}"#, "a[3]: 1,\"x|y\",-\n## b\n  ## c\n"),
            (r#"[{"a":1,"b":{"c":"x"}},{"a":2}]"#, "## [2]{a,\"b>c\"}\n1|x\n2|~\n"),
            (r#"{"x":{"v":1},"y":{"v":[]}}"#, "## [2:]{key,v}\nx|1\n@1 y|^\n.v [0]\n"),
            (r#"[[],{"a>b":1}]"#, "## [2]\n@0 [0]\n@1 {}\n  \"a>b\"=1\n"),
        ] {
            let text = format!("GCF profile=generic\n{text}");
            assert_eq!(encoded(json).as_ref(), Ok(&text), "{json}");
            assert_eq!(from_json(json, &EncodeOptions::default()), Ok(text), "{json}");
        }
    }

    #[test]
    fn a_value_that_has_no_text_is_named() {
        let error = encoded(r#"{"a":[1,18446744073709551616]}"#).unwrap_err();
        assert_eq!((error.code, error.place), (Code::OutOfRange, Place::Value("$.a[1]".into())));
        let value = Value::Array(vec![Value::Float(f64::NAN)]);
        let error = encode(&value, &EncodeOptions::default()).unwrap_err();
        assert_eq!((error.code, error.place), (Code::NotFinite, Place::Value("$[0]".into())));
        let limits = Limits { max_depth: 1 };
        let options = EncodeOptions { limits, ..EncodeOptions::default() };
        let error = encode(&Value::Array(vec![value]), &options).unwrap_err();
        assert_eq!((error.code, error.place), (Code::LimitExceeded, Place::Value("$[0]".into())));
    }

    #[test]
    fn a_member_that_comes_twice_is_refused() {
        let twice = vec![("k".into(), Value::Null), ("k".into(), Value::Null)];
        for value in [Value::Object(twice.clone()), Value::Array(vec![Value::Object(twice)])] {
            let error = encode(&value, &EncodeOptions::default()).unwrap_err();
            assert_eq!(error.code, Code::DuplicateKey);
        }
    }
}
