//! What dialect 0.1 cannot carry, and so refuses to write: section 4.2.

use crate::cad::error::DocumentError;
use crate::cad::model::ir::{Document, Op, Sections};
use crate::cad::model::ops::Code;

/// Raises for what dialect 0.1 would change: section 4.2.
pub(crate) fn refuse(document: &Document<'_>, order: &[usize]) -> Result<(), DocumentError> {
    let Document { nodes, sections, .. } = document;
    document.refuse_extra("dialect 0.1")?;
    let fault = |message: String| Err(DocumentError::new("document", message));
    if let Some(name) = assembly(sections, |length| length > 0) {
        return fault(format!("{name} cannot be written in dialect 0.1"));
    }
    let root = match &*sections.roots {
        _ if nodes.is_empty() => return Ok(()),
        [root] => root.node,
        roots => {
            let count = roots.len();
            return fault(format!(
                "dialect 0.1 carries exactly one root, this document has {count}"
            ));
        }
    };
    let users = nodes.iter().filter(|node| node.op.refs().contains(&root));
    if let Some(user) = users.min_by_key(|node| node.id) {
        let root = nodes[root].id;
        let message = format!("uses root node {root}, which must be the last node in dialect 0.1");
        return Err(DocumentError::new(format!("node {}", user.id), message));
    }
    for node in order.iter().map(|&node| &nodes[node]) {
        if let Some(name) = uncarried(&node.op) {
            let message = format!("{name} cannot be written in dialect 0.1");
            return Err(DocumentError::new(format!("node {}", node.id), message));
        }
    }
    Ok(())
}

/// The first section of an assembly whose length is as asked.
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

/// What of an operation dialect 0.1 cannot carry.
fn uncarried(op: &Op<'_>) -> Option<&'static str> {
    match op.code {
        Code::Fillet | Code::Chamfer | Code::Text2D | Code::StepImport => Some(op.code.name()),
        Code::Extrude => {
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
