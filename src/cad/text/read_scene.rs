//! Reads the directives of a scene.

use super::arguments::string;
use super::lex::{Form, LineError};
use super::read::Reader;
use super::read_directives::Args;
use crate::cad::model::ir::{Background, Camera, Effect, Environment, EnvironmentSource, Light};
use crate::cad::model::kinds::{self, LIGHTS, PRESETS, TONES};
use crate::memory;

impl Reader {
    /// `ENV preset intensity|_`, `ENV "url" intensity|_`
    pub(crate) fn environment(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let token = args.next();
        let word = args.line.content(token);
        let source = match kinds::known(&PRESETS, &word) {
            Some(preset) if token.form == Form::Word => EnvironmentSource::Preset(preset),
            _ => EnvironmentSource::Custom(word.into_owned()),
        };
        let intensity = args.optional_number()?;
        self.scene().environment = Some(Environment { source, intensity });
        Ok(())
    }

    /// `BG solid r g b`, `BG gradient r g b r g b`, `BG env`, `BG transparent`
    pub(crate) fn background(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let token = args.next();
        let background = match &*args.line.content(token) {
            "solid" => Background::Solid(args.vector()?),
            "gradient" => Background::Gradient([args.vector()?, args.vector()?]),
            "env" => Background::Environment,
            _ => Background::Transparent,
        };
        self.scene().background = Some(background);
        Ok(())
    }

    /// `LSPT id r g b i px py pz dx dy dz [angle|_ [penumbra]] enabled= shadow=`
    pub(crate) fn light(&mut self, kind: usize, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let id = args.word();
        let color = args.vector()?;
        let intensity = args.number()?;
        let mut vectors = [[0.0; 3]; 2];
        for vector in vectors.iter_mut().take(LIGHTS[kind].vectors.len()) {
            *vector = args.vector()?;
        }
        let mut numbers = [None; 2];
        let many = LIGHTS[kind].numbers.len();
        for (i, slot) in numbers.iter_mut().take(many).enumerate() {
            // `_` replaces a missing number before another one, so it is not allowed as the last
            // argument.
            let last = i + 1 == many || LIGHTS[kind].required;
            *slot = if last { args.last_number()? } else { args.optional_number()? };
        }
        let word = shadow_word(&mut args)?;
        let [enabled, shadow] = &args.attributes;
        if let Some(again) = shadow.as_ref().filter(|_| word) {
            let message = format!("{} repeats shadow=", LIGHTS[kind].opcode);
            return Err(LineError::new(again.at, message));
        }
        let enabled = match enabled {
            None => Some(true),
            Some(enabled) if &*enabled.value == "_" && !enabled.quoted => None,
            Some(enabled) => Some(enabled.flag()?),
        };
        let shadow = match shadow {
            None => word.then_some(true),
            Some(shadow) => Some(shadow.flag()?),
        };
        let light = Light { id, kind, vectors, numbers, color, intensity, enabled, shadow };
        memory::push(self.scene().lights.get_or_insert_default(), light);
        Ok(())
    }

    /// `AO on int|_ rad|_`
    pub(crate) fn effect(&mut self, kind: usize, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let enabled = args.flag()?;
        let numbers = [args.optional_number()?, args.optional_number()?];
        self.post().effects[kind] = Some(Effect { enabled, numbers });
        Ok(())
    }

    pub(crate) fn tone(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let token = args.next();
        let Some(tone) = kinds::known(&TONES, &args.line.content(token)) else {
            return Err(args.unexpected(token, |word| format!("unknown tone mapping \"{word}\"")));
        };
        self.post().tone = Some(tone);
        Ok(())
    }

    pub(crate) fn exposure(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        self.post().exposure = Some(args.number()?);
        Ok(())
    }

    /// `CAM id px py pz tx ty tz [fov|_] ["name"]`
    pub(crate) fn camera(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let id = args.word();
        let (position, target) = (args.vector()?, args.vector()?);
        let name_only = matches!(args.rest, [token] if token.form == Form::Quoted);
        let fov = if name_only { None } else { args.optional_number()? };
        let name = if args.rest.is_empty() {
            None
        } else {
            let token = args.next();
            Some(string(args.line, token)?.into_owned())
        };
        let camera = Camera { id, name, position, target, fov };
        memory::push(self.scene().cameras.get_or_insert_default(), camera);
        Ok(())
    }
}

/// Whether the next argument of a light is the word `shadow`; an error if it is another word.
fn shadow_word(args: &mut Args<'_, '_>) -> Result<bool, LineError> {
    let [token, ..] = args.rest else { return Ok(false) };
    if args.line.is(*token, "shadow") {
        return Ok(true);
    }
    Err(args.unexpected(*token, |word| format!("expected shadow, got \"{word}\"")))
}
