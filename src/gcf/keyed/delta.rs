//! Deltas: the changes between two sets. A delta is applied completely or not at all.

use super::{
    FACTOR, KeyedSet, Row, Scalar, begin_header, check_fields, size_of_row, size_of_rows,
    write_section,
};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use crate::gcf::syntax::header::write_field;
use crate::gcf::syntax::size::savings;
use crate::interrupt::polled;
use crate::memory;
use hashbrown::HashMap;

/// The changes from one set to another. Rows are ordered by the canonical text of their identities.
#[derive(Debug, Clone, PartialEq)]
pub struct Delta {
    key: String,
    /// Empty if no row is added or changed, as its text then declares no fields.
    fields: Vec<String>,
    base_root: String,
    new_root: String,
    added: Vec<Row>,
    changed: Vec<Row>,
    removed: Vec<Scalar>,
}

/// The changes of a delta, for [`Delta::new`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeltaParts {
    /// Rows whose identities are not in the base.
    pub added: Vec<Row>,
    /// Complete rows that replace those of the base with the same identities.
    pub changed: Vec<Row>,
    /// Identities of the rows to remove.
    pub removed: Vec<Scalar>,
}

impl Delta {
    /// Makes a delta between the sets with these roots. `fields` may be empty if no row is added or
    /// changed.
    ///
    /// # Errors
    /// As [`KeyedSet::new`] for the rows.
    pub fn new(
        key: &str,
        fields: Vec<String>,
        base_root: String,
        new_root: String,
        parts: DeltaParts,
    ) -> Result<Self, Error> {
        let DeltaParts { added, changed, removed } = parts;
        let all = if fields.is_empty() && added.is_empty() && changed.is_empty() {
            vec![key.to_owned()]
        } else {
            fields.clone()
        };
        let at = check_fields(key, &all)?;
        // Besides sorting the rows, this checks them.
        let sorted = |rows: Vec<Row>, fields: &[String]| {
            let set = KeyedSet::without_root(String::new(), key, fields.to_vec(), rows)?;
            let mut rows = set.rows;
            rows.sort_by_cached_key(|row| row[at].canonical_text());
            Ok::<_, Error>(rows)
        };
        let (added, changed) = (sorted(added, &all)?, sorted(changed, &all)?);
        let one = [key.to_owned()];
        let removed = KeyedSet::without_root(
            String::new(),
            key,
            one.to_vec(),
            removed.into_iter().map(|identity| vec![identity]).collect(),
        )?;
        let mut removed: Vec<_> = removed.rows.into_iter().flatten().collect();
        removed.sort_by_cached_key(Scalar::canonical_text);
        let key = key.to_owned();
        Ok(Self { key, fields, base_root, new_root, added, changed, removed })
    }

    /// Computes the delta from `base` to `new`; `None` if their names, keys or fields differ, which a
    /// delta cannot express.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub fn between(base: &KeyedSet, new: &KeyedSet) -> Result<Option<Self>, Error> {
        if !base.is_like(new) {
            return Ok(None);
        }
        memory::ensure(base.size().saturating_add(new.size()).saturating_mul(FACTOR))?;
        let mut delta = Self {
            key: new.key().to_owned(),
            fields: new.fields.clone(),
            base_root: base.root.clone(),
            new_root: new.root.clone(),
            added: Vec::new(),
            changed: Vec::new(),
            removed: Vec::new(),
        };
        let key = new.key;
        for row in polled(&new.rows) {
            match base.find(&row[key]) {
                None => delta.added.push(row.clone()),
                Some(at) if base.rows[at] != *row => delta.changed.push(row.clone()),
                Some(_) => {}
            }
        }
        let removed = polled(&base.rows).filter(|row| new.find(&row[key]).is_none());
        delta.removed = removed.map(|row| row[key].clone()).collect();
        delta.added.sort_by_cached_key(|row| row[key].canonical_text());
        delta.changed.sort_by_cached_key(|row| row[key].canonical_text());
        delta.removed.sort_by_cached_key(Scalar::canonical_text);
        if delta.added.is_empty() && delta.changed.is_empty() {
            // Its text declares none.
            delta.fields.clear();
        }
        Ok(Some(delta))
    }

    /// The name of the identity field.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The names of the fields; may be empty if no row is added or changed.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// The pack root of the base.
    pub fn base_root(&self) -> &str {
        &self.base_root
    }

    /// The pack root of the result.
    pub fn new_root(&self) -> &str {
        &self.new_root
    }

    /// Rows whose identities are not in the base.
    pub fn added(&self) -> &[Row] {
        &self.added
    }

    /// Complete rows that replace those of the base with the same identities.
    pub fn changed(&self) -> &[Row] {
        &self.changed
    }

    /// Identities of the rows to remove.
    pub fn removed(&self) -> &[Scalar] {
        &self.removed
    }

    /// The approximate memory use of the rows, in bytes.
    fn size(&self) -> usize {
        let removed = size_of_row(&self.removed) + self.removed.len() * size_of::<Row>();
        size_of_rows(&self.added) + size_of_rows(&self.changed) + removed
    }

    /// Writes the delta. `sizes`, those of the delta and of the full set in any unit, are written as the
    /// share that the delta saves; an empty `tool` is omitted.
    ///
    /// # Errors
    /// `invalid_header_value` if `tool` or a root is not printable ASCII without spaces.
    pub fn write(&self, tool: &str, sizes: Option<(u64, u64)>) -> Result<String, Error> {
        memory::ensure(self.size().saturating_mul(FACTOR))?;
        let mut out = begin_header(tool)?;
        out.push_str(" delta=true");
        write_field("base_root", &self.base_root, &mut out)?;
        write_field("new_root", &self.new_root, &mut out)?;
        write_field("key", &self.key, &mut out)?;
        if let Some((delta, full)) = sizes.filter(|(_, full)| *full > 0) {
            write_field("savings", &format!("{}%", savings(delta, full)), &mut out)?;
        }
        out.push('\n');
        let key = self.fields.iter().position(|field| *field == self.key).unwrap_or(0);
        for (name, rows) in [("added", &self.added), ("changed", &self.changed)] {
            if !rows.is_empty() {
                write_section(name, &self.fields, key, rows, &mut out);
            }
        }
        if !self.removed.is_empty() {
            let rows: Vec<Row> = self.removed.iter().map(|row| vec![row.clone()]).collect();
            write_section("removed", std::slice::from_ref(&self.key), 0, &rows, &mut out);
        }
        Ok(out)
    }
}

impl KeyedSet {
    /// Returns this set with the changes of `delta`. Unchanged rows keep their order; added rows follow.
    ///
    /// # Errors
    /// `base_mismatch` if the delta is for another set; `delta_invalid` if it has another key or other
    /// fields, adds a row that exists, changes or removes one that does not, or has two changes of one
    /// row; `root_mismatch` if the result does not have the announced root.
    pub fn apply(&self, delta: &Delta) -> Result<Self, Error> {
        if delta.base_root != self.root {
            let message = format!(
                "the delta is for root {}, the set has root {}; request the full set",
                excerpt(&delta.base_root),
                self.root
            );
            return Err(Error::without_place(Code::BaseMismatch, message));
        }
        let size = self.size() + delta.size();
        memory::ensure(size.saturating_mul(FACTOR))?;
        let changes = self.changes(delta)?;
        let mut rows = Vec::with_capacity(self.rows.len() + delta.added.len());
        for (at, row) in polled(&self.rows).enumerate() {
            match changes.get(&at) {
                None => rows.push(row.clone()),
                Some(Some(new)) => rows.push((*new).clone()),
                Some(None) => {}
            }
        }
        rows.extend(delta.added.iter().cloned());
        let set = Self::new(self.name.clone(), self.key(), self.fields.clone(), rows)?;
        if set.root != delta.new_root {
            let message = format!(
                "the result has root {}, the delta announces {}; request the full set",
                set.root,
                excerpt(&delta.new_root)
            );
            return Err(Error::without_place(Code::RootMismatch, message));
        }
        Ok(set)
    }

    /// The rows that the delta changes, by index: the new row, or `None` if it is removed.
    fn changes<'d>(&self, delta: &'d Delta) -> Result<HashMap<usize, Option<&'d Row>>, Error> {
        let invalid = |message: String| Err(Error::without_place(Code::DeltaInvalid, message));
        let has_rows = !(delta.added.is_empty() && delta.changed.is_empty());
        if delta.key != self.key() || (has_rows && delta.fields != self.fields) {
            return invalid("the delta and the set have different keys or fields".to_owned());
        }
        let mut changes = HashMap::new();
        let replaced = delta.changed.iter().map(|row| (&row[self.key], Some(row)));
        for (identity, row) in polled(replaced.chain(delta.removed.iter().map(|one| (one, None)))) {
            let Some(at) = self.find(identity) else {
                let what = if row.is_some() { "changes" } else { "removes" };
                let shown = excerpt(&identity.canonical_text());
                return invalid(format!("the delta {what} {shown}, which is not in the set"));
            };
            if changes.insert(at, row).is_some() {
                let shown = excerpt(&identity.canonical_text());
                return invalid(format!("the delta has two changes of {shown}"));
            }
        }
        for row in polled(&delta.added) {
            if self.find(&row[self.key]).is_some() {
                let shown = excerpt(&row[self.key].canonical_text());
                return invalid(format!("the delta adds {shown}, which already exists"));
            }
        }
        Ok(changes)
    }
}
