//! What a trip through a dialect would change: section 4.2.

use super::read::Dialect;
use super::refuse::assembly;
use crate::cad::error::DocumentError;
use crate::cad::model::ir::Document;
use crate::cad::model::ops::Code;
use crate::cad::model::order::order;

/// Sorted codes; `dropped` is whether something unknown was, when the document was read.
pub fn losses(
    document: &Document<'_>,
    dialect: Dialect,
    dropped: bool,
) -> Result<Vec<&'static str>, DocumentError> {
    let mut codes = Vec::new();
    if dropped || (dialect != Dialect::Second && !document.extra.is_empty()) {
        codes.push("unknown");
    }
    if dialect == Dialect::Second {
        return Ok(codes);
    }
    let Document { nodes, sections, .. } = document;
    let root = sections.roots.last();
    let order = order(nodes, |_| false, root.map(|root| root.node))?;
    let used = |root: usize| nodes.iter().any(|node| node.op.refs().contains(&root));
    let one_root = match &*sections.roots {
        [root] => !used(root.node),
        roots => roots.is_empty() && nodes.is_empty(),
    };
    let changes = [
        ("assembly", assembly(sections, |_| true).is_some()),
        ("ids", order.iter().zip(0..).any(|(&node, place)| nodes[node].id != place)),
        ("materials", !sections.materials.is_empty()),
        ("names", nodes.iter().any(|node| node.name.is_some())),
        ("ops", nodes.iter().any(|node| changes(node.op.code) || node.op.options() != [None; 2])),
        ("part_materials", !sections.part_materials.is_empty()),
        ("root_material", root.is_some_and(|root| root.material != "default")),
        ("roots", !one_root),
        ("scene", sections.scene.is_some()),
        ("version", sections.version.as_ref().is_some_and(|version| version != "0.1")),
        ("visibility", sections.roots.iter().any(|root| root.visible.is_some())),
    ];
    codes.extend(changes.into_iter().filter(|(_, changes)| *changes).map(|(code, _)| code));
    codes.sort_unstable();
    Ok(codes)
}

/// Whether dialect 0.1 has no line for it.
fn changes(code: Code) -> bool {
    matches!(code, Code::Empty | Code::Fillet | Code::Chamfer | Code::Text2D | Code::StepImport)
}
