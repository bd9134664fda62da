//! Writes text for the public program vcad.
//!
//! The reader of vcad supports dialect 0.2 without extension x1, and misreads some content without an
//! error. A [`Reducer`] changes a document to one that this reader reads correctly; the writer of
//! dialect 0.2 then writes it. Each change is a loss with a code, and an error unless the caller allows
//! the code.
//!
//! Changes are made in the order of the lines, so that the reported error is the first in the text.

use super::write::{is_bare, write_reduced};
use crate::cad::error::{DocumentError, Truncated};
use crate::cad::model::ir::{
    Camera, Document, Effect, Environment, EnvironmentSource, Instance, Joint, Light, Material,
    Node, Op, OpDetails, Part, Post, Root, Scene, Sections,
};
use crate::cad::model::kinds::{EFFECTS, PRESETS};
use crate::cad::model::operations::OpCode;
use crate::cad::model::writing_order::order;
use crate::interrupt::polled;

type Result<T> = std::result::Result<T, DocumentError>;

/// What text for vcad may leave out or change, by code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the codes")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Loss {
    Assembly,
    Ids,
    Materials,
    Names,
    Ops,
    PartMaterials,
    Roots,
    Scene,
    Segments,
    Unknown,
    Version,
    Visibility,
}

/// The codes of [`Loss`], in its order, which is alphabetical.
const CODES: [&str; 12] = [
    "assembly",
    "ids",
    "materials",
    "names",
    "ops",
    "part_materials",
    "roots",
    "scene",
    "segments",
    "unknown",
    "version",
    "visibility",
];

/// The numbers that vcad's own writer writes for absent ones, in the order of [`EFFECTS`].
const EFFECT_NUMBERS: [[f64; 2]; 3] = [[1.0, 1.0], [0.5, 0.8], [0.3, 0.5]];

/// A set of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses(u16);

impl Losses {
    /// The set of all losses.
    pub const ALL: Self = Self((1 << CODES.len()) - 1);

    /// Adds the loss with this code; false if there is none.
    pub fn insert_code(&mut self, code: &str) -> bool {
        let found = CODES.iter().position(|known| *known == code);
        self.0 |= found.map_or(0, |bit| 1 << bit);
        found.is_some()
    }

    /// Adds a loss.
    pub fn insert(&mut self, loss: Loss) {
        self.0 |= 1 << loss as u16;
    }

    /// Whether the set has this loss.
    pub fn contains(self, loss: Loss) -> bool {
        self.0 >> loss as u16 & 1 != 0
    }

    /// The codes of the losses, sorted.
    pub fn codes(self) -> Vec<&'static str> {
        let codes = CODES.into_iter().enumerate();
        codes.filter(|(bit, _)| self.0 >> bit & 1 != 0).map(|(_, code)| code).collect()
    }
}

/// Writes text that vcad reads as the same document, without a final newline. Losses that are not
/// `allowed` are errors, except new ids, which are always allowed. `names` says whether nodes keep
/// their names.
///
/// # Errors
/// [`DocumentError`](crate::cad::DocumentError) for the first loss that is not allowed.
pub fn write_for_vcad(mut document: Document<'_>, names: bool, allowed: Losses) -> Result<String> {
    if !names {
        document.nodes.iter_mut().for_each(|node| node.name = None);
    }
    let mut reducer = Reducer { allowed, lost: Losses::default() };
    write_reduced(&reducer.document(document)?)
}

/// Returns the losses of [`write_for_vcad`]. `dropped` says whether reading the document dropped
/// unknown content.
///
/// # Errors
/// [`DocumentError`] for a document that cannot be written even if all losses are allowed.
pub fn losses_for_vcad(document: Document<'_>, dropped: bool) -> Result<Losses> {
    let mut reducer = Reducer { allowed: Losses::ALL, lost: Losses::default() };
    if dropped {
        reducer.lost.insert(Loss::Unknown);
    }
    reducer.document(document)?;
    Ok(reducer.lost)
}

/// The place of a string in its line, which decides whether vcad reads it correctly.
#[derive(Clone, Copy)]
struct Place {
    quoted: bool,
    /// Whether a later token of the line is in quotes.
    before_quote: bool,
    /// Whether it is the last token of the line.
    last: bool,
}

impl Place {
    /// The place of an id, which is bare where possible.
    fn of_id(id: &str, before_quote: bool, last: bool) -> Self {
        Self { quoted: !is_bare(id), before_quote, last }
    }

    /// The reason why vcad would misread the string at this place, if any.
    fn fault(self, text: &str) -> Option<&'static str> {
        if text.contains(['\n', '\r']) {
            Some("line break")
        } else if (self.quoted || self.before_quote) && !text.is_ascii() {
            // vcad uses positions of characters as positions of bytes.
            Some("not ASCII")
        } else if self.quoted && !self.last && text.ends_with('\\') {
            // vcad never ends a string at a quote after a backslash.
            Some("last character is a backslash")
        } else {
            None
        }
    }
}

/// Changes a document to one that vcad reads correctly, and records the losses.
struct Reducer {
    allowed: Losses,
    lost: Losses,
}

impl Reducer {
    /// Records a loss; an error if it is not allowed.
    fn lose(
        &mut self,
        loss: Loss,
        path: impl FnOnce() -> String,
        message: impl FnOnce() -> String,
    ) -> Result<()> {
        if !self.allowed.contains(loss) {
            return Err(DocumentError::new(path(), message()));
        }
        self.lost.insert(loss);
        Ok(())
    }

    fn document<'a>(&mut self, mut document: Document<'a>) -> Result<Document<'a>> {
        let order = order(&document.nodes, |_| false, None)?;
        if self.allowed.contains(Loss::Unknown) && !document.extra.is_empty() {
            self.lost.insert(Loss::Unknown);
            document.extra.clear();
        }
        document.refuse_extra("text for vcad")?;
        self.opening(&mut document.sections)?;
        for (&node, position) in polled(&order).zip(0..) {
            let node = &mut document.nodes[node];
            self.node(node)?;
            if node.id != position {
                self.lost.insert(Loss::Ids);
                node.id = position;
            }
        }
        self.roots(&mut document.sections.roots, order.last().copied())?;
        self.assembly(&mut document.sections)?;
        self.scene(&mut document.sections.scene)?;
        Ok(document)
    }

    fn opening(&mut self, sections: &mut Sections) -> Result<()> {
        let path = || "document".to_owned();
        if sections.version.take_if(|version| version != "0.1").is_some() {
            self.lose(Loss::Version, path, || cannot("version"))?;
        }
        for (key, material) in &mut sections.materials {
            self.material(key, material)?;
        }
        if !sections.part_materials.is_empty() {
            self.lose(Loss::PartMaterials, path, || cannot("part_materials"))?;
            sections.part_materials.clear();
        }
        Ok(())
    }

    fn material(&mut self, key: &str, material: &mut Material) -> Result<()> {
        let path = || format!("material \"{}\"", Truncated(key));
        if material.name != key {
            let message = || because("name", "differs from the key");
            self.lose(Loss::Materials, path, message)?;
            key.clone_into(&mut material.name);
        }
        identifier("key", key, Place::of_id(key, false, false), path)?;
        if material.density.is_none() && material.friction.is_some() {
            self.lose(Loss::Materials, path, || needs("density"))?;
            material.friction = None;
        }
        Ok(())
    }

    fn node(&mut self, node: &mut Node<'_>) -> Result<()> {
        let id = node.id;
        let path = || format!("node {id}");
        self.operation(&mut node.op, path)?;
        if let Some(name) = &mut node.name {
            let place = Place { quoted: true, before_quote: false, last: true };
            self.name(name.to_mut(), place, Loss::Names, path)?;
        }
        Ok(())
    }

    fn operation(&mut self, op: &mut Op<'_>, path: impl Fn() -> String) -> Result<()> {
        match op.code {
            OpCode::Empty | OpCode::StepImport => {
                self.lose(Loss::Ops, path, || cannot(op.code.name()))?;
                // A cube of size zero replaces the operation, because it is empty, too.
                *op = Op::new(OpCode::Cube);
            }
            OpCode::Text2D => {
                self.lose(Loss::Ops, path, || cannot(op.code.name()))?;
                let mut sketch = Op::new(OpCode::Sketch2D);
                sketch.numbers[..9].copy_from_slice(&op.numbers[..9]);
                *op = sketch;
            }
            OpCode::Extrude => {
                let options = op.code.spec().options.iter().zip(op.options());
                for (option, value) in options {
                    if value.is_some() {
                        self.lose(Loss::Ops, &path, || cannot(option.name))?;
                    }
                }
                op.details = op
                    .details
                    .take()
                    .map(|details| Box::new(OpDetails { options: [None; 2], ..*details }));
            }
            OpCode::Cylinder | OpCode::Sphere | OpCode::Cone if op.count != 0 => {
                self.lose(Loss::Segments, path, || cannot("segments"))?;
                op.count = 0;
            }
            _ => {}
        }
        Ok(())
    }

    /// Replaces the characters of a name that vcad would misread.
    fn name(
        &mut self,
        name: &mut String,
        place: Place,
        loss: Loss,
        path: impl FnOnce() -> String,
    ) -> Result<()> {
        let Some(fault) = place.fault(name) else { return Ok(()) };
        self.lose(loss, path, || because("name", fault))?;
        let readable = |c: char| c.is_ascii() && !matches!(c, '\n' | '\r');
        *name = name.chars().map(|c| if readable(c) { c } else { '?' }).collect();
        if place.fault(name).is_some() {
            // The only fault left is a backslash at the end.
            name.pop();
            name.push('?');
        }
        Ok(())
    }

    fn roots(&mut self, roots: &mut Vec<Root>, last: Option<usize>) -> Result<()> {
        for (i, root) in roots.iter_mut().enumerate() {
            let path = || format!("roots[{i}]");
            let place = Place::of_id(&root.material, false, root.visible != Some(false));
            identifier("material", &root.material, place, path)?;
            if root.visible.take_if(|visible| *visible).is_some() {
                self.lose(Loss::Visibility, path, || cannot("visible true"))?;
            }
        }
        if let Some(node) = last.filter(|_| roots.is_empty()) {
            self.lose(Loss::Roots, || "document".to_owned(), || needs("a root"))?;
            // Without a root, vcad would choose a node as the root and show it.
            roots.push(Root { node, material: "default".to_owned(), visible: Some(false) });
        }
        Ok(())
    }

    fn assembly(&mut self, sections: &mut Sections) -> Result<()> {
        for (key, part) in sections.parts.iter_mut().flatten() {
            self.part(key, part)?;
        }
        self.empty(
            "partDefs",
            Loss::Assembly,
            &mut sections.parts,
            std::collections::BTreeMap::is_empty,
        )?;
        for (i, instance) in sections.instances.iter_mut().flatten().enumerate() {
            self.instance(i, instance)?;
        }
        self.empty("instances", Loss::Assembly, &mut sections.instances, Vec::is_empty)?;
        for (i, joint) in sections.joints.iter_mut().flatten().enumerate() {
            self.joint(i, joint)?;
        }
        self.empty("joints", Loss::Assembly, &mut sections.joints, Vec::is_empty)?;
        if let Some(ground) = &sections.ground {
            let place = Place::of_id(ground, false, true);
            identifier("groundInstanceId", ground, place, || "document".to_owned())?;
        }
        Ok(())
    }

    /// Drops a section of the document that is present but empty.
    fn empty<T>(
        &mut self,
        name: &str,
        loss: Loss,
        section: &mut Option<T>,
        is_empty: impl Fn(&T) -> bool,
    ) -> Result<()> {
        if section.take_if(|section| is_empty(section)).is_some() {
            let message = || cannot(&format!("empty {name}"));
            self.lose(loss, || "document".to_owned(), message)?;
        }
        Ok(())
    }

    fn part(&mut self, key: &str, part: &mut Part) -> Result<()> {
        let path = || format!("partDefs \"{}\"", Truncated(key));
        if part.id != key {
            self.lose(Loss::Assembly, path, || because("id", "differs from the key"))?;
            key.clone_into(&mut part.id);
        }
        identifier("key", key, Place::of_id(key, true, false), path)?;
        self.required_name(&mut part.name, key, part.material.as_deref(), path)?;
        if let Some(material) = &part.material {
            let place = Place::of_id(material, false, true);
            identifier("defaultMaterial", material, place, path)?;
        }
        Ok(())
    }

    /// Makes sure that a part or an instance has a name that vcad reads. Its line may end with a
    /// material.
    fn required_name(
        &mut self,
        name: &mut Option<String>,
        id: &str,
        material: Option<&str>,
        path: impl Fn() -> String,
    ) -> Result<()> {
        let Some(name) = name else {
            self.lose(Loss::Assembly, path, || needs("name"))?;
            *name = Some(id.to_owned());
            return Ok(());
        };
        let before_quote = material.is_some_and(|material| !is_bare(material));
        let place = Place { quoted: true, before_quote, last: false };
        self.name(name, place, Loss::Assembly, path)
    }

    fn instance(&mut self, i: usize, instance: &mut Instance) -> Result<()> {
        let path = || format!("instances[{i}]");
        for (what, id) in [("id", &instance.id), ("partDefId", &instance.part)] {
            identifier(what, id, Place::of_id(id, true, false), path)?;
        }
        let Instance { id, name, material, .. } = instance;
        self.required_name(name, id, material.as_deref(), path)?;
        if instance.transform.is_none() {
            self.lose(Loss::Assembly, path, || needs("transform"))?;
            instance.transform = Some([[0.0; 3], [0.0; 3], [1.0; 3]]);
        }
        if let Some(material) = &instance.material {
            identifier("material", material, Place::of_id(material, false, true), path)?;
        }
        Ok(())
    }

    fn joint(&mut self, i: usize, joint: &mut Joint) -> Result<()> {
        let path = || format!("joints[{i}]");
        let child_quoted = !is_bare(&joint.child);
        let parent_quoted = joint.parent.as_deref().is_some_and(|parent| !is_bare(parent));
        let place = Place::of_id(&joint.id, parent_quoted || child_quoted, false);
        identifier("id", &joint.id, place, path)?;
        if let Some(parent) = &joint.parent {
            let place = Place::of_id(parent, child_quoted, false);
            identifier("parentInstanceId", parent, place, path)?;
        }
        let place = Place::of_id(&joint.child, false, false);
        identifier("childInstanceId", &joint.child, place, path)?;
        if joint.name.take().is_some() {
            self.lose(Loss::Assembly, path, || cannot("name"))?;
        }
        if joint.state.to_bits() != 0 {
            self.lose(Loss::Assembly, path, || cannot("state"))?;
            joint.state = 0.0;
        }
        Ok(())
    }

    fn scene(&mut self, scene: &mut Option<Scene>) -> Result<()> {
        self.empty("scene", Loss::Scene, scene, |scene| *scene == Scene::default())?;
        if let Some(scene) = scene {
            self.environment(&mut scene.environment)?;
            self.lights(&mut scene.lights)?;
            self.post(&mut scene.post)?;
            self.cameras(&mut scene.cameras)?;
        }
        scene.take_if(|scene| *scene == Scene::default());
        Ok(())
    }

    fn environment(&mut self, environment: &mut Option<Environment>) -> Result<()> {
        let path = || "scene.environment".to_owned();
        let Some(Environment { source, intensity }) = environment else { return Ok(()) };
        if let EnvironmentSource::Custom(url) = source {
            let place = Place { quoted: true, before_quote: false, last: false };
            let preset = url == "none" || PRESETS.contains(&url.as_str());
            let fault = place.fault(url).or(preset.then_some("reads as a preset"));
            if let Some(fault) = fault {
                self.lose(Loss::Scene, path, || because("url", fault))?;
                *environment = None;
                return Ok(());
            }
        }
        self.default(intensity, 1.0, "intensity", path)
    }

    /// Sets a number that vcad requires, if it is absent.
    fn default(
        &mut self,
        number: &mut Option<f64>,
        default: f64,
        name: &str,
        path: impl FnOnce() -> String,
    ) -> Result<()> {
        if number.is_none() {
            self.lose(Loss::Scene, path, || needs(name))?;
            *number = Some(default);
        }
        Ok(())
    }

    fn lights(&mut self, lights: &mut Option<Vec<Light>>) -> Result<()> {
        let Some(all) = lights else { return Ok(()) };
        if all.is_empty() {
            let path = || "scene".to_owned();
            self.lose(Loss::Scene, path, || cannot("empty lights"))?;
        }
        for (i, light) in all.iter_mut().enumerate() {
            self.light(i, light)?;
        }
        // vcad cannot switch a light off.
        all.retain(|light| light.enabled != Some(false));
        if all.is_empty() {
            *lights = None;
        }
        Ok(())
    }

    fn light(&mut self, i: usize, light: &mut Light) -> Result<()> {
        let path = || format!("scene.lights[{i}]");
        if light.enabled == Some(false) {
            return self.lose(Loss::Scene, path, || cannot("enabled false"));
        }
        identifier("id", &light.id, Place::of_id(&light.id, false, false), path)?;
        if light.enabled.is_none() {
            self.lose(Loss::Scene, path, || needs("enabled"))?;
            light.enabled = Some(true);
        }
        // Only directional lights have a shadow in vcad, and only if it is on.
        if let Some(on) = light.shadow.take_if(|on| !*on || light.kind != 0) {
            self.lose(Loss::Scene, path, || cannot(&format!("castShadow {on}")))?;
        }
        if let [None, penumbra @ Some(_)] = &mut light.numbers {
            self.lose(Loss::Scene, path, || needs("angle"))?;
            *penumbra = None;
        }
        Ok(())
    }

    fn post(&mut self, post: &mut Option<Post>) -> Result<()> {
        if post.take_if(|post| *post == Post::default()).is_some() {
            let path = || "scene".to_owned();
            self.lose(Loss::Scene, path, || cannot("empty postProcessing"))?;
        }
        let Some(post) = post else { return Ok(()) };
        let effects = post.effects.iter_mut().zip(&EFFECTS).zip(EFFECT_NUMBERS);
        for ((effect, spec), defaults) in effects {
            let Some(Effect { numbers, .. }) = effect else { continue };
            let path = || format!("scene.postProcessing.{}", spec.name);
            for ((number, name), default) in numbers.iter_mut().zip(spec.numbers).zip(defaults) {
                self.default(number, default, name, path)?;
            }
        }
        Ok(())
    }

    fn cameras(&mut self, cameras: &mut Option<Vec<Camera>>) -> Result<()> {
        for (i, camera) in cameras.iter_mut().flatten().enumerate() {
            self.camera(i, camera)?;
        }
        if cameras.take_if(|cameras| cameras.is_empty()).is_some() {
            let path = || "scene".to_owned();
            self.lose(Loss::Scene, path, || cannot("empty cameraPresets"))?;
        }
        Ok(())
    }

    fn camera(&mut self, i: usize, camera: &mut Camera) -> Result<()> {
        let path = || format!("scene.cameraPresets[{i}]");
        let named = camera.name.is_some() && camera.fov.is_some();
        identifier("id", &camera.id, Place::of_id(&camera.id, named, false), path)?;
        if camera.fov.is_none() && camera.name.take().is_some() {
            return self.lose(Loss::Scene, path, || needs("fov"));
        }
        if let Some(name) = &mut camera.name {
            let place = Place { quoted: true, before_quote: false, last: true };
            self.name(name, place, Loss::Scene, path)?;
        }
        Ok(())
    }
}

/// Returns an error if vcad would misread an identifier. Changing it could make it equal to another
/// one, so no loss allows that.
fn identifier(what: &str, text: &str, place: Place, path: impl Fn() -> String) -> Result<()> {
    match place.fault(text) {
        Some(fault) => Err(DocumentError::new(path(), because(what, fault))),
        None => Ok(()),
    }
}

fn cannot(what: &str) -> String {
    format!("{what} cannot be written for vcad")
}

fn because(what: &str, reason: &str) -> String {
    format!("{what} cannot be written for vcad ({reason})")
}

fn needs(what: &str) -> String {
    format!("vcad needs {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_the_order_of_the_losses() {
        assert!(CODES.is_sorted());
        for (loss, code) in [(Loss::Assembly, "assembly"), (Loss::Visibility, "visibility")] {
            let mut losses = Losses::default();
            assert!(losses.insert_code(code) && losses.contains(loss));
            assert_eq!(losses.codes(), [code]);
        }
        assert!(!Losses::default().insert_code("root_material"));
        assert_eq!(Losses::ALL.codes(), CODES);
    }
}
