//! The model: one document, whatever form it came in. Section 2.
//!
//! Invariants of a [`Document`] that a reader made: references are indexes of existing nodes of the
//! right kind, there is no cycle, numbers are finite, ids are distinct. Nodes know each other by index,
//! so that no form has to look up another's ids.

use super::operations::OpCode;
use crate::cad::error::{DocumentError, Truncated};
use crate::value::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Three numbers: x, y, z.
pub type V3 = [f64; 3];

/// Two numbers: x, y.
pub type V2 = [f64; 2];

/// How many numbers the longest operation takes.
pub(crate) const NUMBERS: usize = 10;

/// A document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document<'a> {
    /// The geometry.
    pub nodes: Vec<Node<'a>>,
    /// All the rest.
    pub sections: Sections,
    /// What the model does not have, set over it in this order. Only a text has any, and a document
    /// that is read to be kept; the other forms refuse it.
    pub extra: Vec<Extra>,
}

/// A value that is not of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Extra {
    /// Where in the JSON document: RFC 6901.
    pub pointer: String,
    /// What is there.
    pub value: Value<'static>,
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'a> {
    /// Its id in JSON.
    pub id: u64,
    /// Its name.
    pub name: Option<Cow<'a, str>>,
    /// What it does.
    pub op: Op<'a>,
}

/// An operation. What the slots mean is in the table of `ops`, by the code; the rest are unused.
#[derive(Debug, Clone, PartialEq)]
pub struct Op<'a> {
    /// Which one.
    pub code: OpCode,
    /// `segments` or `count`.
    pub count: u32,
    /// Indexes of other nodes.
    pub refs: [usize; 2],
    /// Its numbers and vectors, one after the other.
    pub numbers: [f64; NUMBERS],
    /// What few operations have.
    pub details: Option<Box<OpDetails<'a>>>,
}

/// What few operations have.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpDetails<'a> {
    /// Of a sketch.
    pub segments: Vec<Segment>,
    /// `text` and `font`, or `path`.
    pub texts: [Cow<'a, str>; 2],
    /// `twist_angle` (radians) and `scale_end`, or `letter_spacing` and `line_spacing`.
    pub options: [Option<f64>; 2],
    /// Of a text.
    pub align: Align,
}

impl<'a> Op<'a> {
    /// An operation with zero in every slot.
    #[inline]
    pub(crate) fn new(code: OpCode) -> Self {
        Self { code, count: 0, refs: [0; 2], numbers: [0.0; NUMBERS], details: None }
    }

    /// The references that it uses.
    #[inline]
    pub(crate) fn refs(&self) -> &[usize] {
        let count = match self.code {
            OpCode::Cube
            | OpCode::Cylinder
            | OpCode::Sphere
            | OpCode::Cone
            | OpCode::Empty
            | OpCode::Sketch2D
            | OpCode::Text2D
            | OpCode::StepImport => 0,
            OpCode::Union | OpCode::Difference | OpCode::Intersection => 2,
            _ => 1,
        };
        &self.refs[..count]
    }

    /// Makes room for what few operations have.
    pub(crate) fn details_mut(&mut self) -> &mut OpDetails<'a> {
        self.details.get_or_insert_with(Box::default)
    }

    /// The options that are present.
    pub(crate) fn options(&self) -> [Option<f64>; 2] {
        self.details.as_ref().map_or([None; 2], |details| details.options)
    }

    /// The alignment of a text.
    pub(crate) fn align(&self) -> Align {
        self.details.as_ref().map_or(Align::Left, |details| details.align)
    }

    /// One of its texts.
    pub(crate) fn text(&self, at: usize) -> &str {
        self.details.as_ref().map_or("", |details| &details.texts[at])
    }

    /// The segments of a sketch.
    pub(crate) fn segments(&self) -> &[Segment] {
        self.details.as_ref().map_or(&[], |details| &details.segments)
    }
}

impl Document<'_> {
    /// Raises for what the model does not have: only dialect 0.2 carries that.
    pub(crate) fn refuse_extra(&self, form: &str) -> Result<(), DocumentError> {
        let Some(extra) = self.extra.first() else { return Ok(()) };
        let pointer = Truncated(&extra.pointer);
        let message = format!("\"{pointer}\" is not in the model, and cannot be written in {form}");
        Err(DocumentError::new("document", message))
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> Document<'static> {
        let nodes = self.nodes.into_iter().map(Node::into_owned).collect();
        Document { nodes, sections: self.sections, extra: self.extra }
    }
}

impl Node<'_> {
    /// The same, borrowing nothing.
    pub(crate) fn into_owned(self) -> Node<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let details = self.op.details.map(|details| {
            let [first, second] = details.texts;
            Box::new(OpDetails {
                segments: details.segments,
                texts: [own(first), own(second)],
                options: details.options,
                align: details.align,
            })
        });
        let Op { code, count, refs, numbers, .. } = self.op;
        Node {
            id: self.id,
            name: self.name.map(own),
            op: Op { code, count, refs, numbers, details },
        }
    }
}

/// A piece of a sketch's outline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Where it begins.
    pub start: V2,
    /// Where it ends.
    pub end: V2,
    /// Of an arc; a line has none.
    pub arc: Option<Arc>,
}

/// What makes a segment an arc.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arc {
    /// Its centre.
    pub center: V2,
    /// Counter-clockwise.
    pub ccw: bool,
}

/// How the lines of a text stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Align {
    #[default]
    Left,
    Center,
    Right,
}

/// What a document has besides nodes; nodes by index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sections {
    /// Of the document; `None` is "0.1".
    pub version: Option<String>,
    /// By key.
    pub materials: BTreeMap<String, Material>,
    /// Material keys by part name.
    pub part_materials: BTreeMap<String, String>,
    /// What is shown.
    pub roots: Vec<Root>,
    /// By key.
    pub parts: Option<BTreeMap<String, Part>>,
    /// Of parts.
    pub instances: Option<Vec<Instance>>,
    /// Between instances.
    pub joints: Option<Vec<Joint>>,
    /// The instance that does not move.
    pub ground: Option<String>,
    /// How it is shown.
    pub scene: Option<Scene>,
}

/// How a surface looks and weighs.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// May differ from its key.
    pub name: String,
    /// Red, green, blue.
    pub color: V3,
    /// 0 to 1.
    pub metallic: f64,
    /// 0 to 1.
    pub roughness: f64,
    /// In kg/m³.
    pub density: Option<f64>,
    /// A coefficient.
    pub friction: Option<f64>,
}

impl Material {
    /// The one that dialect 0.2 adds to a text without any.
    pub(crate) fn fallback() -> Self {
        Self {
            name: "default".to_owned(),
            color: [0.8; 3],
            metallic: 0.0,
            roughness: 0.5,
            density: None,
            friction: None,
        }
    }
}

/// A node that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Root {
    /// By index.
    pub node: usize,
    /// Key of a material, which need not exist.
    pub material: String,
    /// Whether it is, where that is said.
    pub visible: Option<bool>,
}

/// A part of an assembly.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the model")]
pub struct Part {
    pub id: String,
    pub name: Option<String>,
    pub node: usize,
    pub material: Option<String>,
}

/// A part in its place.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the model")]
pub struct Instance {
    pub id: String,
    pub part: String,
    pub name: Option<String>,
    /// Translation, rotation in degrees, scale.
    pub transform: Option<[V3; 3]>,
    pub material: Option<String>,
}

/// How two instances move against each other.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the model")]
pub struct Joint {
    pub id: String,
    pub name: Option<String>,
    /// `None` is the world.
    pub parent: Option<String>,
    pub child: String,
    /// Of the parent, then of the child.
    pub anchors: [V3; 2],
    /// Fixed, Revolute, Slider, Cylindrical, Ball: 0 to 4.
    pub kind: usize,
    /// Unused by Fixed and Ball.
    pub axis: V3,
    pub limits: Option<[f64; 2]>,
    /// Degrees or mm.
    pub state: f64,
}

/// How a document is shown.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(missing_docs, reason = "the fields of the model")]
pub struct Scene {
    pub environment: Option<Environment>,
    pub background: Option<Background>,
    pub lights: Option<Vec<Light>>,
    pub post: Option<Post>,
    pub cameras: Option<Vec<Camera>>,
}

/// What is mirrored.
#[derive(Debug, Clone, PartialEq)]
pub struct Environment {
    /// A preset or an url.
    pub source: EnvironmentSource,
    /// A factor.
    pub intensity: Option<f64>,
}

/// Where the environment comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum EnvironmentSource {
    /// One of the ten names.
    Preset(&'static str),
    /// An url.
    Custom(String),
}

/// What is behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Background {
    /// The environment.
    Environment,
    /// Nothing.
    Transparent,
    /// One colour.
    Solid(V3),
    /// From the top to the bottom.
    Gradient([V3; 2]),
}

/// A light.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the model")]
pub struct Light {
    pub id: String,
    /// Directional, Point, Spot, Area: 0 to 3.
    pub kind: usize,
    /// Position and direction, as far as the kind has them.
    pub vectors: [V3; 2],
    /// Distance; or angle and penumbra; or width and height.
    pub numbers: [Option<f64>; 2],
    pub color: V3,
    pub intensity: f64,
    pub enabled: Option<bool>,
    pub shadow: Option<bool>,
}

/// What is done to the picture.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(missing_docs, reason = "the fields of the model")]
pub struct Post {
    /// Ambient occlusion, bloom, vignette.
    pub effects: [Option<Effect>; 3],
    pub tone: Option<&'static str>,
    pub exposure: Option<f64>,
}

/// One effect.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the fields of the model")]
pub struct Effect {
    pub enabled: bool,
    pub numbers: [Option<f64>; 2],
}

/// A view.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of the model")]
pub struct Camera {
    pub id: String,
    pub name: Option<String>,
    pub position: V3,
    pub target: V3,
    /// Degrees.
    pub fov: Option<f64>,
}
