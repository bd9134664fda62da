//! Reads the sections of a JSON document other than its nodes.

use super::object::{Object, Path, Result, boolean, node_id, numbers};
use super::read::{Index, Reader, missing_node};
use crate::cad::model::ir::{
    Background, Camera, Effect, Environment, EnvironmentSource, Instance, Joint, Light, Material,
    Part, Post, Root, Scene, V3,
};
use crate::cad::model::kinds::{EFFECTS, JOINTS, LIGHTS, PRESETS, TONES};
use crate::walk::Source;

impl Reader {
    pub(crate) fn material<'a, S: Source<'a>>(&mut self, source: S, key: &str) -> Result<Material> {
        let path = Path::Key("material", key);
        self.object(source, &path, |_, object| {
            Ok(Material {
                name: object.string("name")?,
                color: numbers(&object.need("color")?, &path.field("color"))?,
                metallic: object.number("metallic")?,
                roughness: object.number("roughness")?,
                density: object.optional_number("density")?,
                friction: object.optional_number("friction")?,
            })
        })
    }

    pub(crate) fn root<'a, S: Source<'a>>(
        &mut self,
        source: S,
        i: usize,
        index: &Index,
    ) -> Result<Root> {
        let path = Path::Item("roots", i);
        self.object(source, &path, |_, object| {
            Ok(Root {
                node: shown_node(object, index)?,
                material: object.string("material")?,
                visible: object.optional_bool("visible")?,
            })
        })
    }

    pub(crate) fn part<'a, S: Source<'a>>(
        &mut self,
        source: S,
        key: &str,
        index: &Index,
    ) -> Result<Part> {
        let path = Path::Key("partDefs", key);
        self.object(source, &path, |_, object| {
            Ok(Part {
                id: object.string("id")?,
                name: object.optional_string("name")?,
                node: shown_node(object, index)?,
                material: object.optional_string("defaultMaterial")?,
            })
        })
    }

    pub(crate) fn instance<'a, S: Source<'a>>(&mut self, source: S, i: usize) -> Result<Instance> {
        let path = Path::Item("instances", i);
        self.object(source, &path, |reader, object| {
            let transform = object.get("transform");
            let transform = transform
                .map(|source| reader.transform(source, &path.field("transform")))
                .transpose()?;
            Ok(Instance {
                id: object.string("id")?,
                part: object.string("partDefId")?,
                name: object.optional_string("name")?,
                transform,
                material: object.optional_string("material")?,
            })
        })
    }

    fn transform<'a, S: Source<'a>>(&mut self, source: S, path: &Path<'_>) -> Result<[V3; 3]> {
        self.object(source, path, |reader, object| {
            Ok([
                reader.v3(object, "translation")?,
                reader.v3(object, "rotation")?,
                reader.v3(object, "scale")?,
            ])
        })
    }

    pub(crate) fn joint<'a, S: Source<'a>>(&mut self, source: S, i: usize) -> Result<Joint> {
        let path = Path::Item("joints", i);
        self.object(source, &path, |reader, object| {
            let (kind, axis, limits) =
                reader.joint_kind(object.need("kind")?, &path.field("kind"))?;
            Ok(Joint {
                id: object.string("id")?,
                name: object.optional_string("name")?,
                parent: object.optional_string("parentInstanceId")?,
                child: object.string("childInstanceId")?,
                anchors: [reader.v3(object, "parentAnchor")?, reader.v3(object, "childAnchor")?],
                kind,
                axis,
                limits,
                state: object.number("state")?,
            })
        })
    }

    fn joint_kind<'a, S: Source<'a>>(
        &mut self,
        source: S,
        path: &Path<'_>,
    ) -> Result<(usize, V3, Option<[f64; 2]>)> {
        let mut object = Object::new(source, path)?;
        let kind = object.kind(&JOINTS, |spec| spec.name)?;
        let axis = if JOINTS[kind].axis { self.v3(&mut object, "axis")? } else { [0.0; 3] };
        let limits = if JOINTS[kind].limits { object.get("limits") } else { None };
        let limits = limits.map(|source| numbers(&source, &path.field("limits"))).transpose()?;
        self.check_unknown_fields(&object)?;
        Ok((kind, axis, limits))
    }

    pub(crate) fn scene<'a, S: Source<'a>>(&mut self, source: S) -> Result<Scene> {
        let path = Path::Top("scene");
        let mut object = Object::new(source, &path)?;
        let mut scene = Scene::default();
        if let Some(source) = object.get("environment") {
            scene.environment = Some(self.environment(source, &path.field("environment"))?);
        }
        if let Some(source) = object.get("background") {
            scene.background = Some(self.background(source, &path.field("background"))?);
        }
        if let Some(source) = object.get("lights") {
            let path = path.field("lights");
            let light = |reader: &mut Self, source, i| reader.light(source, &Path::Index(&path, i));
            scene.lights = Some(self.array(&source, &path, light)?);
        }
        if let Some(source) = object.get("postProcessing") {
            scene.post = Some(self.post(source, &path.field("postProcessing"))?);
        }
        if let Some(source) = object.get("cameraPresets") {
            let path = path.field("cameraPresets");
            let camera =
                |reader: &mut Self, source, i| reader.camera(source, &Path::Index(&path, i));
            scene.cameras = Some(self.array(&source, &path, camera)?);
        }
        self.check_unknown_fields(&object)?;
        Ok(scene)
    }

    fn environment<'a, S: Source<'a>>(
        &mut self,
        source: S,
        path: &Path<'_>,
    ) -> Result<Environment> {
        let mut object = Object::new(source, path)?;
        let kinds = ["Preset", "Custom"];
        let source = if object.kind(&kinds, |name| name)? == 0 {
            let found = object.optional_word("preset", &PRESETS, "an environment preset")?;
            EnvironmentSource::Preset(found.ok_or_else(|| path.error("missing field \"preset\""))?)
        } else {
            EnvironmentSource::Custom(object.string("url")?)
        };
        let intensity = object.optional_number("intensity")?;
        self.check_unknown_fields(&object)?;
        Ok(Environment { source, intensity })
    }

    fn background<'a, S: Source<'a>>(&mut self, source: S, path: &Path<'_>) -> Result<Background> {
        let mut object = Object::new(source, path)?;
        let color =
            |object: &mut Object<'_, S>, name| numbers(&object.need(name)?, &path.field(name));
        let kinds = ["Environment", "Transparent", "Solid", "Gradient"];
        let background = match object.kind(&kinds, |name| name)? {
            0 => Background::Environment,
            1 => Background::Transparent,
            2 => Background::Solid(color(&mut object, "color")?),
            _ => Background::Gradient([color(&mut object, "top")?, color(&mut object, "bottom")?]),
        };
        self.check_unknown_fields(&object)?;
        Ok(background)
    }

    fn light<'a, S: Source<'a>>(&mut self, source: S, path: &Path<'_>) -> Result<Light> {
        self.object(source, path, |reader, object| {
            let (kind, vectors, numbers) =
                reader.light_kind(object.need("kind")?, &path.field("kind"))?;
            Ok(Light {
                id: object.string("id")?,
                kind,
                vectors,
                numbers,
                color: self::numbers(&object.need("color")?, &path.field("color"))?,
                intensity: object.number("intensity")?,
                enabled: object.optional_bool("enabled")?,
                shadow: object.optional_bool("castShadow")?,
            })
        })
    }

    fn light_kind<'a, S: Source<'a>>(
        &mut self,
        source: S,
        path: &Path<'_>,
    ) -> Result<(usize, [V3; 2], [Option<f64>; 2])> {
        let mut object = Object::new(source, path)?;
        let kind = object.kind(&LIGHTS, |spec| spec.name)?;
        let spec = &LIGHTS[kind];
        let mut vectors = [[0.0; 3]; 2];
        for (slot, name) in vectors.iter_mut().zip(spec.vectors) {
            *slot = self.v3(&mut object, name)?;
        }
        let mut numbers = [None; 2];
        for (slot, name) in numbers.iter_mut().zip(spec.numbers) {
            *slot = if spec.required {
                Some(object.number(name)?)
            } else {
                object.optional_number(name)?
            };
        }
        self.check_unknown_fields(&object)?;
        Ok((kind, vectors, numbers))
    }

    fn post<'a, S: Source<'a>>(&mut self, source: S, path: &Path<'_>) -> Result<Post> {
        let mut object = Object::new(source, path)?;
        let mut post = Post::default();
        for (slot, spec) in post.effects.iter_mut().zip(&EFFECTS) {
            let Some(source) = object.get(spec.name) else { continue };
            let path = path.field(spec.name);
            let mut effect = Object::new(source, &path)?;
            let enabled = boolean(&effect.need("enabled")?, &path.field("enabled"))?;
            let [first, second] = spec.numbers;
            let numbers = [effect.optional_number(first)?, effect.optional_number(second)?];
            self.check_unknown_fields(&effect)?;
            *slot = Some(Effect { enabled, numbers });
        }
        post.tone = object.optional_word("toneMapping", &TONES, "a tone mapping")?;
        post.exposure = object.optional_number("exposure")?;
        self.check_unknown_fields(&object)?;
        Ok(post)
    }

    fn camera<'a, S: Source<'a>>(&mut self, source: S, path: &Path<'_>) -> Result<Camera> {
        self.object(source, path, |reader, object| {
            Ok(Camera {
                id: object.string("id")?,
                name: object.optional_string("name")?,
                position: reader.v3(object, "position")?,
                target: reader.v3(object, "target")?,
                fov: object.optional_number("fov")?,
            })
        })
    }
}

/// Reads the member `root` of a root or a part definition, a reference to a node.
fn shown_node<'a, S: Source<'a>>(object: &mut Object<'_, S>, index: &Index) -> Result<usize> {
    let path = object.path;
    let id = node_id(&object.need("root")?, &path.field("root"))?;
    index.get(id).ok_or_else(|| missing_node(path, "root", id))
}
