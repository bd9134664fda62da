//! The types of a document, the same for every format.
//!
//! Invariants of a [`Document`] that a reader returns: references are indexes of existing nodes of
//! the right kind, there is no cycle, numbers are finite, ids are distinct. Nodes refer to each
//! other by index, so no writer has to look up ids.

use super::operations::OpCode;
use crate::cad::error::{DocumentError, Truncated};
use crate::value::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A vector: x, y, z.
pub type V3 = [f64; 3];

/// A point or vector of the plane: x, y.
pub type V2 = [f64; 2];

/// The largest number of slots in [`Op::numbers`] that an operation uses.
pub(crate) const NUMBERS: usize = 10;

/// A document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document<'a> {
    /// The nodes of the geometry.
    pub nodes: Vec<Node<'a>>,
    /// All other parts of the document that belong to the model.
    pub sections: Sections,
    /// Values outside the model, applied to the JSON document in this order. Only `XF` lines of
    /// dialect 0.2 and readers that keep such values, as [`read_json_kept`](crate::cad::read_json_kept),
    /// produce them. Writing them in dialect 0.1, as a hybrid or in binary is an error.
    pub extra: Vec<Extra>,
}

/// A value outside the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Extra {
    /// Its place in the JSON document, as an RFC 6901 pointer.
    pub pointer: String,
    /// The value.
    pub value: Value<'static>,
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'a> {
    /// The id that the node has in JSON.
    pub id: u64,
    /// The optional name.
    pub name: Option<Cow<'a, str>>,
    /// The operation.
    pub op: Op<'a>,
}

/// An operation. The table in `operations` says which slots the code uses and what they mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Op<'a> {
    /// Which operation.
    pub code: OpCode,
    /// The field `segments` or `count`.
    pub count: u32,
    /// Indexes of the nodes that the operation uses.
    pub refs: [usize; 2],
    /// Numbers and vectors, in sequence.
    pub numbers: [f64; NUMBERS],
    /// The fields that few operations have.
    pub details: Option<Box<OpDetails<'a>>>,
}

/// The fields that few operations have, boxed to keep [`Op`] small.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpDetails<'a> {
    /// The segments of a sketch.
    pub segments: Vec<Segment>,
    /// The fields `text` and `font`, or `path`.
    pub texts: [Cow<'a, str>; 2],
    /// `twist_angle` (radians) and `scale_end`, or `letter_spacing` and `line_spacing`.
    pub options: [Option<f64>; 2],
    /// The alignment of a text.
    pub align: Align,
}

impl<'a> Op<'a> {
    /// Creates an operation with zero in every slot.
    #[inline]
    pub(crate) fn new(code: OpCode) -> Self {
        Self { code, count: 0, refs: [0; 2], numbers: [0.0; NUMBERS], details: None }
    }

    /// The references that the operation has.
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

    /// The details, created if absent.
    pub(crate) fn details_mut(&mut self) -> &mut OpDetails<'a> {
        self.details.get_or_insert_with(Box::default)
    }

    /// The optional numbers; `None` is absent.
    pub(crate) fn options(&self) -> [Option<f64>; 2] {
        self.details.as_ref().map_or([None; 2], |details| details.options)
    }

    /// The alignment of a text.
    pub(crate) fn align(&self) -> Align {
        self.details.as_ref().map_or(Align::Left, |details| details.align)
    }

    /// A string field by its slot; empty if absent.
    pub(crate) fn text(&self, at: usize) -> &str {
        self.details.as_ref().map_or("", |details| &details.texts[at])
    }

    /// The segments of a sketch.
    pub(crate) fn segments(&self) -> &[Segment] {
        self.details.as_ref().map_or(&[], |details| &details.segments)
    }
}

impl Document<'_> {
    /// Returns an error if the document has values outside the model, for a `form` that cannot hold
    /// them.
    pub(crate) fn refuse_extra(&self, form: &str) -> Result<(), DocumentError> {
        let Some(extra) = self.extra.first() else { return Ok(()) };
        let pointer = Truncated(&extra.pointer);
        let message = format!("\"{pointer}\" is not in the model, and cannot be written in {form}");
        Err(DocumentError::new("document", message).outside_model())
    }

    /// Copies borrowed strings, so that the document no longer borrows its input.
    pub fn into_owned(self) -> Document<'static> {
        let nodes = self.nodes.into_iter().map(Node::into_owned).collect();
        Document { nodes, sections: self.sections, extra: self.extra }
    }
}

impl Node<'_> {
    /// A node without an operation.
    #[inline]
    pub(crate) fn empty(id: u64) -> Self {
        Self { id, name: None, op: Op::new(OpCode::Empty) }
    }

    /// Copies borrowed strings, so that the node no longer borrows its input.
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

/// A line or an arc of a sketch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// The start point.
    pub start: V2,
    /// The end point.
    pub end: V2,
    /// Present if the segment is an arc.
    pub arc: Option<Arc>,
}

/// The properties of an arc in addition to its end points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arc {
    /// The center.
    pub center: V2,
    /// Whether the arc runs counter-clockwise.
    pub ccw: bool,
}

/// The horizontal alignment of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    #[default]
    /// To the left.
    Left,
    /// In the middle.
    Center,
    /// To the right.
    Right,
}

/// All parts of a document other than its nodes, which they reference by index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sections {
    /// The version of the document; `None` means "0.1".
    pub version: Option<String>,
    /// Materials by key.
    pub materials: BTreeMap<String, Material>,
    /// Material keys by part name.
    pub part_materials: BTreeMap<String, String>,
    /// The nodes that are shown.
    pub roots: Vec<Root>,
    /// Part definitions by key (`partDefs`).
    pub parts: Option<BTreeMap<String, Part>>,
    /// The placed parts.
    pub instances: Option<Vec<Instance>>,
    /// The joints between instances.
    pub joints: Option<Vec<Joint>>,
    /// The id of the fixed instance (`groundInstanceId`).
    pub ground: Option<String>,
    /// How the document is rendered.
    pub scene: Option<Scene>,
}

/// The look and the physical properties of a material.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// The name, which may differ from the key.
    pub name: String,
    /// Red, green and blue.
    pub color: V3,
    /// 0 to 1.
    pub metallic: f64,
    /// 0 to 1.
    pub roughness: f64,
    /// The density in kg/m³.
    pub density: Option<f64>,
    /// The friction coefficient.
    pub friction: Option<f64>,
}

impl Material {
    /// The material that dialect 0.2 adds to a text without materials.
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
    /// The index of the node.
    pub node: usize,
    /// The key of a material, which need not exist.
    pub material: String,
    /// Whether the node is visible; `None` if the document does not say.
    pub visible: Option<bool>,
}

/// A part definition of an assembly.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The id.
    pub id: String,
    /// The optional name.
    pub name: Option<String>,
    /// The index of the node.
    pub node: usize,
    /// The key of a material (`defaultMaterial`).
    pub material: Option<String>,
}

/// A placed part.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The id, to which joints refer.
    pub id: String,
    /// The id of the part (`partDefId`).
    pub part: String,
    /// The optional name.
    pub name: Option<String>,
    /// Translation, rotation in degrees, scale.
    pub transform: Option<[V3; 3]>,
    /// The key of a material, which replaces the material of the part.
    pub material: Option<String>,
}

/// A joint between two instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// The id.
    pub id: String,
    /// The optional name.
    pub name: Option<String>,
    /// The id of the parent instance; `None` is the world.
    pub parent: Option<String>,
    /// The id of the child instance.
    pub child: String,
    /// The anchor on the parent, then the anchor on the child.
    pub anchors: [V3; 2],
    /// The index in the table of joints: Fixed, Revolute, Slider, Cylindrical, Ball.
    pub kind: usize,
    /// The axis; unused by Fixed and Ball.
    pub axis: V3,
    /// The smallest and the largest position.
    pub limits: Option<[f64; 2]>,
    /// The position of the joint, in degrees or mm.
    pub state: f64,
}

/// How a document is rendered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scene {
    /// The environment map.
    pub environment: Option<Environment>,
    /// The background of the image.
    pub background: Option<Background>,
    /// The lights.
    pub lights: Option<Vec<Light>>,
    /// The post-processing of the image.
    pub post: Option<Post>,
    /// The camera presets.
    pub cameras: Option<Vec<Camera>>,
}

/// The environment map that lights the scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Environment {
    /// A preset or a URL.
    pub source: EnvironmentSource,
    /// The intensity, as a factor.
    pub intensity: Option<f64>,
}

/// Where the environment comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum EnvironmentSource {
    /// One of the ten presets.
    Preset(&'static str),
    /// The URL of an image.
    Custom(String),
}

/// The background of the scene.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Background {
    /// The environment map.
    Environment,
    /// A transparent background.
    Transparent,
    /// One color.
    Solid(V3),
    /// A gradient from the top color to the bottom color.
    Gradient([V3; 2]),
}

/// A light.
#[derive(Debug, Clone, PartialEq)]
pub struct Light {
    /// The id.
    pub id: String,
    /// The index in the table of lights: Directional, Point, Spot, Area.
    pub kind: usize,
    /// The position, the direction or both, in the order of the table of lights.
    pub vectors: [V3; 2],
    /// The optional numbers of the kind: distance, angle and penumbra, or width and height.
    pub numbers: [Option<f64>; 2],
    /// Red, green and blue.
    pub color: V3,
    /// The intensity.
    pub intensity: f64,
    /// Whether the light is on.
    pub enabled: Option<bool>,
    /// Whether the light casts shadows (`castShadow`).
    pub shadow: Option<bool>,
}

/// The post-processing of the image.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Post {
    /// Ambient occlusion, bloom, vignette.
    pub effects: [Option<Effect>; 3],
    /// The tone mapping (`toneMapping`).
    pub tone: Option<&'static str>,
    /// The exposure.
    pub exposure: Option<f64>,
}

/// A post-processing effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// Whether the effect is on.
    pub enabled: bool,
    /// The two numbers that the table of effects names.
    pub numbers: [Option<f64>; 2],
}

/// A camera preset.
#[derive(Debug, Clone, PartialEq)]
pub struct Camera {
    /// The id.
    pub id: String,
    /// The optional name.
    pub name: Option<String>,
    /// The position of the camera.
    pub position: V3,
    /// The point at which the camera looks.
    pub target: V3,
    /// The field of view in degrees.
    pub fov: Option<f64>,
}
