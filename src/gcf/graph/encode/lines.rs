//! Writes each kind of line. GCF 3.6 sections 9 and 16.1.

use crate::gcf::error::{Code, Error};
use crate::gcf::graph::score;
use crate::gcf::graph::types::{Edge, Location, Payload, Symbol};
use crate::gcf::graph::vocabulary::abbreviated;
use crate::gcf::syntax::header::{write_count, write_field};
use crate::gcf::syntax::string::write_quoted;
use crate::interrupt::polled;

/// Appends the header line.
pub(super) fn write_header(
    payload: &Payload,
    edges: usize,
    session: bool,
    out: &mut String,
) -> Result<(), Error> {
    out.push_str("GCF profile=graph");
    write_field("tool", &payload.tool, out)?;
    write_count("budget", payload.token_budget, out);
    write_count("tokens", payload.tokens_used, out);
    out.push_str(" symbols=");
    write_id(payload.symbols.len() as u64, out);
    if edges > 0 {
        out.push_str(" edges=");
        write_id(edges as u64, out);
    }
    if session {
        out.push_str(" session=true");
    }
    write_field("pack_root", &payload.pack_root, out)?;
    out.push('\n');
    Ok(())
}

/// Appends an id or a count.
pub(in crate::gcf::graph) fn write_id(id: u64, out: &mut String) {
    out.push_str(itoa::Buffer::new().format(id));
}

/// Appends the group name of a distance.
pub(in crate::gcf::graph) fn write_label(distance: i64, out: &mut String) {
    match distance {
        0 => out.push_str("targets"),
        1 => out.push_str("related"),
        2 => out.push_str("extended"),
        _ => {
            out.push_str("distance_");
            out.push_str(itoa::Buffer::new().format(distance));
        }
    }
}

/// Appends the line that starts the group of a distance.
pub(in crate::gcf::graph) fn write_group(distance: i64, out: &mut String) {
    out.push_str("## ");
    write_label(distance, out);
    out.push('\n');
}

/// Appends the line of a symbol: a reference if the peer knows the symbol, otherwise a declaration.
pub(in crate::gcf::graph) fn write_node(id: u64, symbol: &Symbol, known: bool, out: &mut String) {
    if known {
        out.push('@');
        write_id(id, out);
        out.push_str("  # previously transmitted\n");
    } else {
        write_declaration(id, symbol, out);
        out.push('\n');
    }
}

/// Appends `@id kind name score provenance`.
pub(in crate::gcf::graph) fn write_declaration(id: u64, symbol: &Symbol, out: &mut String) {
    out.push('@');
    write_id(id, out);
    out.push(' ');
    out.push_str(abbreviated(&symbol.kind));
    out.push(' ');
    out.push_str(&symbol.qualified_name);
    out.push(' ');
    score::write(symbol.score, out);
    out.push(' ');
    out.push_str(&symbol.provenance);
}

/// Appends the line that starts the section of edges.
pub(super) fn write_edges_label(count: usize, out: &mut String) {
    out.push_str("## edges [");
    write_id(count as u64, out);
    out.push_str("]\n");
}

/// Appends the line of an edge.
pub(in crate::gcf::graph) fn write_edge(target: u64, source: u64, edge: &Edge, out: &mut String) {
    out.push('@');
    write_id(target, out);
    out.push_str("<@");
    write_id(source, out);
    out.push(' ');
    out.push_str(&edge.edge_type);
    if !edge.status.is_empty() && *edge.status != *"unchanged" {
        out.push(' ');
        out.push_str(&edge.status);
    }
    out.push('\n');
}

/// Returns the locations of a payload with the ids of their symbols; `id` maps a position to an id.
pub(super) fn located(payload: &Payload, id: impl Fn(usize) -> u64) -> Vec<(u64, &Location)> {
    let symbols = payload.symbols.iter().enumerate();
    symbols
        .filter_map(|(position, symbol)| Some((id(position), symbol.location.as_deref()?)))
        .collect()
}

/// Appends the section of locations, sorted by id; nothing if there are none.
pub(in crate::gcf::graph) fn write_locations(
    mut located: Vec<(u64, &Location)>,
    out: &mut String,
) -> Result<(), Error> {
    if located.is_empty() {
        return Ok(());
    }
    located.sort_by_key(|&(id, _)| id);
    out.push_str("## loc [");
    write_id(located.len() as u64, out);
    out.push_str("]\n");
    for (id, location) in polled(located) {
        let Location { file, line, column, end } = location;
        out.push('@');
        write_id(id, out);
        out.push(' ');
        let bare = file.bytes().all(|byte| byte.is_ascii_graphic());
        if bare && !file.is_empty() && !file.starts_with('"') {
            out.push_str(file);
        } else {
            write_quoted(file, out);
        }
        let (end_line, end_column) = end.unzip();
        for number in [Some(*line), Some(*column), end_line, end_column].into_iter().flatten() {
            if number == 0 {
                let message = "a line or column of a location is 0, but both count from 1";
                return Err(Error::without_place(Code::InvalidLocLine, message));
            }
            out.push(' ');
            write_id(number, out);
        }
        out.push('\n');
    }
    Ok(())
}
