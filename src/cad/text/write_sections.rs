//! Writes the directives of dialect 0.2.
//!
//! If a line needs syntax that the public program cannot read, the text is marked as extension x1.

use super::write::Writer;
use crate::cad::model::ir::{
    Background, Effect, Environment, EnvironmentSource, Instance, Joint, Light, Material, Part,
    Root, Scene, Sections,
};
use crate::cad::model::kinds::{EFFECTS, JOINTS, LIGHTS};
use crate::interrupt::polled;

impl Writer {
    /// Writes the lines before the geometry: `VER`, `M`, `PMAT`.
    pub(crate) fn opening(&mut self, sections: &Sections) {
        if let Some(version) = sections.version.as_deref().filter(|&version| version != "0.1") {
            self.extended = true;
            self.line("VER");
            self.quoted(version);
        }
        for (key, material) in polled(&sections.materials) {
            self.material(key, material);
        }
        for (part, material) in polled(&sections.part_materials) {
            self.extended = true;
            self.line("PMAT");
            self.id(part);
            self.id(material);
        }
    }

    fn material(&mut self, key: &str, material: &Material) {
        self.line("M");
        self.id(&material.name);
        self.numbers(&material.color);
        self.number(material.metallic);
        self.number(material.roughness);
        match (material.density, material.friction) {
            (None, None) => {}
            (density, friction) => {
                self.number_or_underscore(density);
                if let Some(friction) = friction {
                    self.number(friction);
                }
            }
        }
        self.own_key(key, &material.name);
    }

    fn own_key(&mut self, key: &str, name: &str) {
        if key != name {
            self.extended = true;
            self.key("key");
            self.push_quoted(key);
        }
    }

    pub(crate) fn roots(&mut self, sections: &Sections, no_nodes: bool) {
        for Root { node, material, visible } in polled(&sections.roots) {
            self.line("ROOT");
            self.node_position(*node);
            self.id(material);
            match visible {
                None => {}
                Some(false) => self.word("hidden"),
                Some(true) => {
                    self.extended = true;
                    self.word("shown");
                }
            }
        }
        // A text without nodes has no default root, so it needs no `ROOT _`.
        if sections.roots.is_empty() && !no_nodes {
            self.line("ROOT");
            self.underscore();
        }
    }

    pub(crate) fn assembly(&mut self, sections: &Sections) {
        self.list("parts", sections.parts.as_ref(), |writer, (key, part)| writer.part(key, part));
        self.list("instances", sections.instances.as_ref(), Self::instance);
        self.list("joints", sections.joints.as_ref(), Self::joint);
        if let Some(ground) = &sections.ground {
            self.line("GROUND");
            self.id(ground);
        }
    }

    /// Writes the items of a list. An empty list differs from an absent one, and is written as `HAVE`.
    fn list<T>(
        &mut self,
        name: &str,
        list: Option<impl IntoIterator<Item = T>>,
        write: impl Fn(&mut Self, T),
    ) {
        let Some(items) = list else { return };
        let mut empty = true;
        for item in polled(items) {
            write(self, item);
            empty = false;
        }
        if empty {
            self.have(name);
        }
    }

    fn part(&mut self, key: &str, part: &Part) {
        self.line("PDEF");
        self.id(&part.id);
        self.quoted_or_underscore(part.name.as_ref());
        self.node_position(part.node);
        if let Some(material) = &part.material {
            self.id(material);
        }
        self.own_key(key, &part.id);
    }

    fn instance(&mut self, instance: &Instance) {
        self.line("INST");
        self.id(&instance.id);
        self.id(&instance.part);
        self.quoted_or_underscore(instance.name.as_ref());
        match &instance.transform {
            Some(transform) => self.numbers(transform.as_flattened()),
            None => self.underscore(),
        }
        if let Some(material) = &instance.material {
            self.id(material);
        }
    }

    fn joint(&mut self, joint: &Joint) {
        let spec = &JOINTS[joint.kind];
        self.line(spec.opcode);
        self.id(&joint.id);
        match &joint.parent {
            Some(parent) => self.id(parent),
            // The public program reads this `_`: it is not part of the extension.
            None => self.word("_"),
        }
        self.id(&joint.child);
        self.numbers(joint.anchors.as_flattened());
        if spec.axis {
            self.numbers(&joint.axis);
        }
        self.numbers(joint.limits.as_ref().map_or(&[], |limits| &limits[..]));
        if let Some(name) = &joint.name {
            self.extended = true;
            self.key("name");
            self.push_quoted(name);
        }
        if joint.state.to_bits() != 0 {
            self.attribute("state", Some(joint.state));
        }
    }

    pub(crate) fn scene(&mut self, scene: &Scene) {
        if scene == &Scene::default() {
            self.have("scene");
        }
        if let Some(environment) = &scene.environment {
            self.environment(environment);
        }
        if let Some(background) = &scene.background {
            self.background(background);
        }
        self.list("lights", scene.lights.as_ref(), Self::light);
        if let Some(post) = &scene.post {
            for (spec, effect) in EFFECTS.iter().zip(&post.effects) {
                if let Some(effect) = effect {
                    self.effect(spec.opcode, effect);
                }
            }
            if let Some(tone) = post.tone {
                self.line("TONE");
                self.word(tone);
            }
            if let Some(exposure) = post.exposure {
                self.line("EXP");
                self.number(exposure);
            }
            if post == &crate::cad::model::ir::Post::default() {
                self.have("post");
            }
        }
        self.list("cameras", scene.cameras.as_ref(), Self::camera);
    }

    fn environment(&mut self, environment: &Environment) {
        self.line("ENV");
        match &environment.source {
            EnvironmentSource::Preset(preset) => self.word(preset),
            EnvironmentSource::Custom(url) => self.quoted(url),
        }
        self.number_or_underscore(environment.intensity);
    }

    fn background(&mut self, background: &Background) {
        self.line("BG");
        match background {
            Background::Environment => self.word("env"),
            Background::Transparent => self.word("transparent"),
            Background::Solid(color) => {
                self.word("solid");
                self.numbers(color);
            }
            Background::Gradient(colors) => {
                self.word("gradient");
                self.numbers(colors.as_flattened());
            }
        }
    }

    fn light(&mut self, light: &Light) {
        let spec = &LIGHTS[light.kind];
        self.line(spec.opcode);
        self.id(&light.id);
        self.numbers(&light.color);
        self.number(light.intensity);
        for vector in light.vectors.iter().take(spec.vectors.len()) {
            self.numbers(vector);
        }
        match light.numbers {
            [None, Some(second)] => {
                self.underscore();
                self.number(second);
            }
            [first, second] => {
                for x in [first, second].into_iter().flatten() {
                    self.number(x);
                }
            }
        }
        match light.shadow {
            // The public program reads `shadow` for directional lights only.
            Some(true) if light.kind == 0 => self.word("shadow"),
            Some(shadow) => self.attribute("shadow", Some(f64::from(u8::from(shadow)))),
            None => {}
        }
        match light.enabled {
            Some(true) => {}
            Some(false) => self.attribute("enabled", Some(0.0)),
            None => {
                self.extended = true;
                self.word("enabled=_");
            }
        }
    }

    fn effect(&mut self, opcode: &str, effect: &Effect) {
        self.line(opcode);
        self.integer(effect.enabled.into());
        for x in effect.numbers {
            self.number_or_underscore(x);
        }
    }

    fn camera(&mut self, camera: &crate::cad::model::ir::Camera) {
        self.line("CAM");
        self.id(&camera.id);
        self.numbers(&camera.position);
        self.numbers(&camera.target);
        match (camera.fov, &camera.name) {
            (None, None) => {}
            (Some(fov), None) => self.number(fov),
            (fov, Some(name)) => {
                self.number_or_underscore(fov);
                self.quoted(name);
            }
        }
    }
}
