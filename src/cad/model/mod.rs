//! The document model of CAD IR, independent of how it is written.
//!
//! `ir` has the types and `ops` the one table of operations, joints, lights and effects; every reader
//! and writer takes names and argument lists from it.

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
