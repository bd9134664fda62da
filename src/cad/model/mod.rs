//! The document model of CAD IR, independent of the file format.
//!
//! `ir` has the types of a document. `operations` is the table of operations and `kinds` that of
//! joints, lights, effects and presets; every reader and writer takes names and argument lists from
//! them. `writing_order` sorts the nodes for writing, and `number` reads and writes numbers.

pub(crate) mod ir;
pub(crate) mod kinds;
pub(crate) mod number;
pub(crate) mod operations;
pub(crate) mod writing_order;

pub use ir::{
    Align, Arc, Background, Camera, Document, Effect, Environment, EnvironmentSource, Extra,
    Instance, Joint, Light, Material, Node, Op, OpDetails, Part, Post, Root, Scene, Sections,
    Segment, V2, V3,
};
pub use operations::OpCode;
