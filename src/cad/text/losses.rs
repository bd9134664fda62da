//! Finds the content that dialect 0.1, that of CAD IR, cannot represent. Writing refuses the first such content
//! with an error; [`losses`] lists all of it as codes.

use super::read::Dialect;
use crate::cad::error::DocumentError;
use crate::cad::model::ir::{Document, Op, Sections};
use crate::cad::model::operations::OpCode;
use crate::cad::model::writing_order::order;
use crate::interrupt::polled;

/// Returns the sorted codes of the content that would change if the document were written in this
/// dialect and read again. `dropped` says whether reading the document dropped unknown content.
///
/// # Errors
/// [`DocumentError`] for nodes that refer to each other in a cycle.
pub fn losses(
    document: &Document<'_>,
    dialect: Dialect,
    dropped: bool,
) -> Result<Vec<&'static str>, DocumentError> {
    let mut codes = Vec::new();
    if dropped || (dialect != Dialect::V0_2 && !document.extra.is_empty()) {
        codes.push("unknown");
    }
    if dialect == Dialect::V0_2 {
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
        ("ops", nodes.iter().any(|node| replaced(node.op.code) || node.op.options() != [None; 2])),
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

/// Whether dialect 0.1 writes the operation as another one.
fn replaced(code: OpCode) -> bool {
    matches!(
        code,
        OpCode::Empty | OpCode::Fillet | OpCode::Chamfer | OpCode::Text2D | OpCode::StepImport
    )
}

/// Returns an error if writing in dialect 0.1 would change the shape.
pub(crate) fn refuse_losses(document: &Document<'_>, order: &[usize]) -> Result<(), DocumentError> {
    let Document { nodes, sections, .. } = document;
    document.refuse_extra("dialect 0.1")?;
    let fail = |message: String| Err(DocumentError::new("document", message));
    if let Some(name) = assembly(sections, |length| length > 0) {
        return fail(format!("{name} cannot be written in dialect 0.1"));
    }
    let root = match &*sections.roots {
        _ if nodes.is_empty() => return Ok(()),
        [root] => root.node,
        roots => {
            let count = roots.len();
            return fail(format!(
                "dialect 0.1 carries exactly one root, this document has {count}"
            ));
        }
    };
    let dependents = nodes.iter().filter(|node| node.op.refs().contains(&root));
    if let Some(user) = dependents.min_by_key(|node| node.id) {
        let root = nodes[root].id;
        let message = format!("uses root node {root}, which must be the last node in dialect 0.1");
        return Err(DocumentError::new(format!("node {}", user.id), message));
    }
    for node in polled(order).map(|&node| &nodes[node]) {
        if let Some(name) = uncarried(&node.op) {
            let message = format!("{name} cannot be written in dialect 0.1");
            return Err(DocumentError::new(format!("node {}", node.id), message));
        }
    }
    Ok(())
}

/// Returns the name of the first section of the assembly whose length satisfies `counts`.
pub(crate) fn assembly(
    sections: &Sections,
    counts: impl Fn(usize) -> bool,
) -> Option<&'static str> {
    [
        ("partDefs", sections.parts.as_ref().map(std::collections::BTreeMap::len)),
        ("instances", sections.instances.as_ref().map(Vec::len)),
        ("joints", sections.joints.as_ref().map(Vec::len)),
        ("groundInstanceId", sections.ground.as_ref().map(|_| 1)),
    ]
    .into_iter()
    .find_map(|(name, length)| length.filter(|&length| counts(length)).map(|_| name))
}

/// Returns the operation or field that dialect 0.1 cannot carry, if any.
pub(crate) fn uncarried(op: &Op<'_>) -> Option<&'static str> {
    match op.code {
        OpCode::Fillet | OpCode::Chamfer | OpCode::Text2D | OpCode::StepImport => {
            Some(op.code.name())
        }
        OpCode::Extrude => {
            let [twist, taper] = op.options();
            if twist.is_some_and(|x| x != 0.0) {
                Some("twist_angle")
            } else if taper.is_some_and(|x| (x - 1.0).abs() > 0.0) {
                Some("scale_end")
            } else {
                None
            }
        }
        _ => None,
    }
}
