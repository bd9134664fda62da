//! The predefined words of the specification and the abbreviations of kinds. GCB writes each word as one
//! byte, its position in its table; position 0 is the empty string.

/// Kinds of symbols.
pub(crate) const KINDS: &[&str] = &[
    "",
    "function",
    "type",
    "method",
    "interface",
    "var",
    "const",
    "resource",
    "table",
    "class",
    "selector",
    "field",
    "route_handler",
    "external",
    "file",
    "package",
    "service",
    "env_var",
    "process",
];

/// Provenances of symbols.
pub(crate) const PROVENANCES: &[&str] = &[
    "",
    "ast_inferred",
    "ast_resolved",
    "lsp_resolved",
    "otel_trace",
    "scip_resolved",
    "runtime_observed",
    "structural",
];

/// Types of edges.
pub(crate) const EDGE_TYPES: &[&str] = &[
    "",
    "calls",
    "imports",
    "implements",
    "references",
    "handles_route",
    "depends_on",
    "deploys",
    "exposes",
    "configures",
    "extends",
    "overrides",
    "decorates",
    "throws",
    "owned_by",
    "authored_by",
    "tests",
    "runtime_calls",
    "runtime_rpc",
    "runtime_produces",
    "runtime_consumes",
    "contains",
    "member_of",
    "documents",
    "consumes_endpoint",
    "implements_rpc",
    "consumes_rpc",
    "gated_by_flag",
    "deployed_by",
    "tested_by",
    "publishes",
    "subscribes",
    "connects_to",
    "similar_to",
    "co_tested_with",
    "type_hint_of",
    "accesses_field",
    "reads_env",
    "executes_process",
];

/// Statuses of edges in a difference.
pub(crate) const STATUSES: &[&str] = &["", "added", "removed"];

/// The id of a word: its position in the table.
#[cfg(feature = "wire")]
pub(crate) fn id(table: &[&str], word: &str) -> Option<u8> {
    table.iter().position(|entry| *entry == word).and_then(|id| id.try_into().ok())
}

/// The entry of a table that equals a word.
fn find(table: &[&'static str], word: &str) -> Option<&'static str> {
    table.iter().copied().find(|entry| *entry == word)
}

/// The entry of any table that equals a word.
pub(super) fn word(word: &str) -> Option<&'static str> {
    [KINDS, PROVENANCES, EDGE_TYPES, STATUSES].into_iter().find_map(|table| find(table, word))
}

/// The predefined kind that equals a word.
pub(crate) fn kind(word: &str) -> Option<&'static str> {
    find(KINDS, word)
}

/// The predefined provenance that equals a word.
pub(crate) fn provenance(word: &str) -> Option<&'static str> {
    find(PROVENANCES, word)
}

/// The predefined edge type that equals a word.
pub(crate) fn edge_type(word: &str) -> Option<&'static str> {
    find(EDGE_TYPES, word)
}

/// The predefined status that equals a word.
pub(crate) fn status(word: &str) -> Option<&'static str> {
    find(STATUSES, word)
}

/// The abbreviation of a kind in a text; other kinds are written in full.
pub(super) fn abbreviated(kind: &str) -> &str {
    match kind {
        "function" => "fn",
        "interface" => "iface",
        "route_handler" => "route",
        "external" => "ext",
        "package" => "pkg",
        "service" => "svc",
        _ => kind,
    }
}

/// The kind that a text names: the inverse of [`abbreviated`].
pub(super) fn expanded(kind: &str) -> &str {
    match kind {
        "fn" => "function",
        "iface" => "interface",
        "route" => "route_handler",
        "ext" => "external",
        "pkg" => "package",
        "svc" => "service",
        _ => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "wire")]
    #[test]
    fn ids_match_the_gcb_layout() {
        for (table, word, expected) in [
            (KINDS, "service", 16),
            (KINDS, "process", 18),
            (PROVENANCES, "structural", 7),
            (EDGE_TYPES, "throws", 13),
            (EDGE_TYPES, "owned_by", 14),
            (EDGE_TYPES, "consumes_rpc", 26),
            (EDGE_TYPES, "executes_process", 38),
        ] {
            assert_eq!(id(table, word), Some(expected), "{word}");
            assert_eq!(table.len() - 1, usize::from(id(table, table[table.len() - 1]).unwrap()));
        }
    }

    #[test]
    fn every_kind_has_one_abbreviation() {
        let words = "fn type method iface var const resource table class selector field route ext \
                     file pkg svc env_var process";
        for (kind, word) in KINDS[1..].iter().zip(words.split(' ')) {
            assert_eq!((abbreviated(kind), expanded(word)), (word, *kind));
        }
        assert_eq!((abbreviated("widget"), expanded("widget")), ("widget", "widget"));
    }
}
