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
    Align, Arc, Background, Camera, Document, Effect, Environment, Extra, Instance, Joint, Light,
    Material, More, Node, Op, Part, Post, Root, Scene, Sections, Segment, Surroundings, V2, V3,
};
pub use operations::Code;
