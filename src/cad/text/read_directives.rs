//! Reads directives, the lines that do not define a node.
//!
//! Each function reads the arguments of one kind of line from left to right. The checks that all
//! lines share come first: position in the text, attributes, and number of arguments.

use super::arguments::{Attribute, count, flag, number, string, wrong_count};
use super::directive_table::{Directive, DirectiveKind};
use super::id_ranges::IdRanges;
use super::lex::{Line, LineError, Token};
use super::read::{Reader, RootLines, column};
use crate::cad::error::Truncated;
use crate::cad::json::extra_values::depth_left;
use crate::cad::model::ir::{Extra, Instance, Joint, Material, Part, Post, Root, Scene, V3};
use crate::cad::model::kinds::JOINTS;
use crate::json::{self, pointer};
use crate::memory;

/// The arguments of a line, taken from left to right, and its attributes.
pub(crate) struct Args<'l, 't> {
    pub(crate) line: Line<'l, 't>,
    opcode: Token,
    pub(crate) rest: &'t [Token],
    pub(crate) attributes: Attributes<'l>,
}

impl Args<'_, '_> {
    /// Takes the next argument. The caller has checked the count; if no argument is left, this returns
    /// the opcode.
    pub(crate) fn next(&mut self) -> Token {
        let (first, rest) = self.rest.split_first().unwrap_or((&self.opcode, &[]));
        self.rest = rest;
        *first
    }

    pub(crate) fn number(&mut self) -> Result<f64, LineError> {
        let token = self.next();
        number(self.line, token)
    }

    pub(crate) fn vector(&mut self) -> Result<V3, LineError> {
        Ok([self.number()?, self.number()?, self.number()?])
    }

    /// Takes a bare word or a string.
    pub(crate) fn word(&mut self) -> String {
        let token = self.next();
        self.line.content(token).into_owned()
    }

    /// Takes a name, and returns it with the key and the place of the key. The key is the attribute
    /// `key=` or, without this attribute, the name.
    fn word_and_key(&mut self) -> (String, String, usize) {
        let at = self.rest.first().map_or(0, |token| token.start);
        let word = self.word();
        match &self.attributes[0] {
            Some(key) => (word, (*key.value).to_owned(), key.at),
            None => (word.clone(), word, at),
        }
    }

    /// Takes the next argument if it is a bare `_`, and returns whether it took it.
    pub(crate) fn take_underscore(&mut self) -> bool {
        let is_underscore = self.rest.first().is_some_and(|&token| self.line.is(token, "_"));
        if is_underscore {
            self.next();
        }
        is_underscore
    }

    /// Takes a number or a bare `_`; the argument may be missing.
    pub(crate) fn optional_number(&mut self) -> Result<Option<f64>, LineError> {
        if self.rest.is_empty() || self.take_underscore() {
            return Ok(None);
        }
        self.number().map(Some)
    }

    /// Takes a number; the argument may be missing.
    pub(crate) fn last_number(&mut self) -> Result<Option<f64>, LineError> {
        if self.rest.is_empty() { Ok(None) } else { self.number().map(Some) }
    }

    /// Takes a string or a bare `_`.
    pub(crate) fn optional_string(&mut self) -> Result<Option<String>, LineError> {
        if self.take_underscore() {
            return Ok(None);
        }
        let token = self.next();
        string(self.line, token).map(|text| Some(text.into_owned()))
    }

    pub(crate) fn optional_word(&mut self) -> Option<String> {
        (!self.rest.is_empty()).then(|| self.word())
    }

    pub(crate) fn flag(&mut self) -> Result<bool, LineError> {
        let token = self.next();
        flag(self.line, token)
    }

    /// Creates an error about a word that is not allowed at its place.
    pub(crate) fn unexpected(
        &self,
        token: Token,
        message: impl FnOnce(Truncated<'_>) -> String,
    ) -> LineError {
        LineError::new(token.start, message(Truncated(&self.line.content(token))))
    }
}

/// The attributes of a line, by their index in the directive's list.
type Attributes<'l> = [Option<Attribute<'l>>; 2];

impl Reader {
    /// Reads a directive.
    pub(crate) fn directive(
        &mut self,
        line: Line<'_, '_>,
        found: &'static Directive,
        opcode: Token,
        tokens: &[Token],
    ) -> Result<(), LineError> {
        self.check_place(line, found, opcode, tokens)?;
        let mut positional = Vec::new();
        let attributes = self.split_attributes(line, found, opcode, tokens, &mut positional)?;
        let args = Args { line, opcode, rest: &positional, attributes };
        check_count(&args, found)?;
        self.check_once(found, opcode)?;
        self.dispatch(found.kind, args)
    }

    fn dispatch(&mut self, kind: DirectiveKind, mut args: Args<'_, '_>) -> Result<(), LineError> {
        match kind {
            DirectiveKind::Material | DirectiveKind::MaterialHeader => self.material(args),
            DirectiveKind::Root => self.root(args),
            DirectiveKind::Part => self.part(args),
            DirectiveKind::Instance => self.instance(args),
            DirectiveKind::Joint(kind) => self.joint(kind, args),
            DirectiveKind::Ground => {
                self.sections.ground = Some(args.word());
                Ok(())
            }
            DirectiveKind::Environment => self.environment(args),
            DirectiveKind::Background => self.background(args),
            DirectiveKind::Light(kind) => self.light(kind, args),
            DirectiveKind::Effect(kind) => self.effect(kind, args),
            DirectiveKind::Tone => self.tone(args),
            DirectiveKind::Exposure => self.exposure(args),
            DirectiveKind::Camera => self.camera(args),
            DirectiveKind::Version => self.version(args),
            DirectiveKind::PartMaterial => self.part_material(args),
            DirectiveKind::Ids => self.original_ids(&args),
            DirectiveKind::Have => self.have(args),
            DirectiveKind::Extra => self.extra(args),
        }
    }

    fn check_place(
        &self,
        line: Line<'_, '_>,
        found: &Directive,
        opcode: Token,
        tokens: &[Token],
    ) -> Result<(), LineError> {
        let late = matches!(found.kind, DirectiveKind::MaterialHeader | DirectiveKind::Ids)
            && !self.node_kinds.is_empty();
        if late {
            let message = format!("{} must come before the first node", found.opcode);
            return Err(LineError::new(opcode.start, message));
        }
        if found.kind == DirectiveKind::Root && self.root_lines == RootLines::ExplicitNone {
            let at = match tokens {
                [only] if line.is(*only, "_") => only.start,
                _ => opcode.start,
            };
            return Err(LineError::new(at, ONLY_ROOT));
        }
        Ok(())
    }

    fn check_once(&mut self, found: &'static Directive, opcode: Token) -> Result<(), LineError> {
        if !found.at_most_once {
            return Ok(());
        }
        if let Some(line) = self.first_lines.insert(found.opcode, self.line_number) {
            self.first_lines.insert(found.opcode, line);
            let message = format!("{} is already given on line {line}", found.opcode);
            return Err(LineError::new(opcode.start, message));
        }
        Ok(())
    }

    /// Returns the attributes, and pushes the other arguments to `positional`.
    fn split_attributes<'l>(
        &self,
        line: Line<'l, '_>,
        found: &'static Directive,
        opcode: Token,
        tokens: &[Token],
        positional: &mut Vec<Token>,
    ) -> Result<Attributes<'l>, LineError> {
        let mut attributes = Attributes::default();
        let fixed = found.counts.first().copied().unwrap_or(0);
        for (i, &token) in tokens.iter().enumerate() {
            let split = line.attribute(token).filter(|_| self.is_v0_2());
            let Some((key, value, quoted)) = split else {
                positional.push(token);
                continue;
            };
            match found.attributes.iter().position(|known| *known == key && i >= fixed) {
                Some(slot) => {
                    let attribute = Attribute { at: token.start, value, quoted };
                    if attributes[slot].replace(attribute).is_some() {
                        let message = format!("{} repeats {key}=", found.opcode);
                        return Err(LineError::new(token.start, message));
                    }
                }
                None if quoted => {
                    let message = format!("{} has no {}=", line.raw(opcode), Truncated(key));
                    return Err(LineError::new(token.start, message));
                }
                None => positional.push(token),
            }
        }
        Ok(attributes)
    }

    /// `M name r g b metallic roughness [density|_ [friction]] key=`
    fn material(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let (name, key, at) = args.word_and_key();
        if self.sections.materials.contains_key(&key) {
            return Err(LineError::new(
                at,
                format!("material \"{}\" is already defined", Truncated(&key)),
            ));
        }
        let allow_underscore = self.is_v0_2();
        let material = Material {
            name,
            color: args.vector()?,
            metallic: args.number()?,
            roughness: args.number()?,
            density: if allow_underscore { args.optional_number()? } else { args.last_number()? },
            friction: args.last_number()?,
        };
        self.first_material.get_or_insert_with(|| key.clone());
        self.sections.materials.insert(key, material);
        Ok(())
    }

    /// `ROOT ref mat [hidden|shown]`, `ROOT _`
    fn root(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        if args.rest.len() == 1 {
            let token = args.next();
            if self.root_lines == RootLines::Listed {
                return Err(LineError::new(token.start, ONLY_ROOT));
            }
            self.root_lines = RootLines::ExplicitNone;
            return Ok(());
        }
        let token = args.next();
        let node = self.any_reference(args.line, token)?;
        let material = args.word();
        let visible = match args.rest {
            [] => None,
            [token, ..] if args.line.is(*token, "hidden") => Some(false),
            [token, ..] if args.line.is(*token, "shown") => Some(true),
            [token, ..] => {
                let message =
                    |word: Truncated<'_>| format!("expected hidden or shown, got \"{word}\"");
                return Err(args.unexpected(*token, message));
            }
        };
        self.root_lines = RootLines::Listed;
        memory::push(&mut self.sections.roots, Root { node, material, visible });
        Ok(())
    }

    /// `PDEF id "name"|_ ref [mat] key=`
    fn part(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let (id, key, at) = args.word_and_key();
        if self.sections.parts.as_ref().is_some_and(|parts| parts.contains_key(&key)) {
            return Err(part_defined(&key, at));
        }
        let name = args.optional_string()?;
        let token = args.next();
        let node = self.any_reference(args.line, token)?;
        let part = Part { id, name, node, material: args.optional_word() };
        self.sections.parts.get_or_insert_default().insert(key, part);
        Ok(())
    }

    /// `INST id partDef "name"|_ tx ty tz rx ry rz sx sy sz [mat]`, or `_` for the nine numbers
    fn instance(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let (id, part) = (args.word(), args.word());
        let name = args.optional_string()?;
        let transform = if args.take_underscore() {
            None
        } else {
            Some([args.vector()?, args.vector()?, args.vector()?])
        };
        let instance = Instance { id, part, name, transform, material: args.optional_word() };
        memory::push(self.sections.instances.get_or_insert_default(), instance);
        Ok(())
    }

    /// `JREV id parent|_ child px py pz cx cy cz ax ay az [min max] name= state=`
    fn joint(&mut self, kind: usize, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let id = args.word();
        let parent = if args.take_underscore() { None } else { Some(args.word()) };
        let child = args.word();
        let anchors = [args.vector()?, args.vector()?];
        let axis = if JOINTS[kind].axis { args.vector()? } else { [0.0; 3] };
        let limits =
            if args.rest.is_empty() { None } else { Some([args.number()?, args.number()?]) };
        let [name, state] = &args.attributes;
        let name = name.as_ref().map(|name| name.value.clone().into_owned());
        let state = state.as_ref().map_or(Ok(0.0), Attribute::number)?;
        let joint = Joint { id, name, parent, child, anchors, kind, axis, limits, state };
        memory::push(self.sections.joints.get_or_insert_default(), joint);
        Ok(())
    }

    pub(crate) fn scene(&mut self) -> &mut Scene {
        self.sections.scene.get_or_insert_default()
    }

    pub(crate) fn post(&mut self) -> &mut Post {
        self.scene().post.get_or_insert_default()
    }

    fn version(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let token = args.next();
        self.sections.version = Some(string(args.line, token)?.into_owned());
        Ok(())
    }

    /// `PMAT part mat`
    fn part_material(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let at = args.rest.first().map_or(0, |token| token.start);
        let (part, material) = (args.word(), args.word());
        if self.sections.part_materials.contains_key(&part) {
            return Err(part_defined(&part, at));
        }
        self.sections.part_materials.insert(part, material);
        Ok(())
    }

    fn original_ids(&mut self, args: &Args<'_, '_>) -> Result<(), LineError> {
        let place = (self.line_number, column(args.line.text, args.opcode.start));
        self.ids = IdRanges::read(args.line, args.rest, place)?;
        Ok(())
    }

    /// `XF pointer json`: the value is set after the whole text is read.
    fn extra(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let (token, token_of_json) = (args.next(), args.next());
        let pointer = args.line.content(token);
        if !pointer::is_valid(&pointer) {
            return Err(args.unexpected(token, |word| format!("invalid pointer \"{word}\"")));
        }
        let text = args.line.raw(token_of_json);
        memory::require(memory::ensure(json::memory_of(text.as_bytes())));
        let Ok(value) = json::parse(text, depth_left(&pointer)) else {
            return Err(LineError::new(token_of_json.start, "invalid JSON after the pointer"));
        };
        let place = (self.line_number, column(args.line.text, token.start));
        if self.extra.len() == self.extra.capacity() {
            memory::require(self.extra.try_reserve(1));
        }
        self.extra.push_back((place, Extra { pointer: pointer.into_owned(), value }));
        Ok(())
    }

    fn have(&mut self, mut args: Args<'_, '_>) -> Result<(), LineError> {
        let token = args.next();
        match &*args.line.content(token) {
            "scene" => {
                self.scene();
            }
            "lights" => {
                self.scene().lights.get_or_insert_default();
            }
            "cameras" => {
                self.scene().cameras.get_or_insert_default();
            }
            "post" => {
                self.post();
            }
            "parts" => {
                self.sections.parts.get_or_insert_default();
            }
            "instances" => {
                self.sections.instances.get_or_insert_default();
            }
            "joints" => {
                self.sections.joints.get_or_insert_default();
            }
            _ => {
                return Err(args.unexpected(token, |word| format!("HAVE knows no \"{word}\"")));
            }
        }
        Ok(())
    }
}

const ONLY_ROOT: &str = "ROOT _ must be the only ROOT";

#[cold]
fn part_defined(key: &str, at: usize) -> LineError {
    LineError::new(at, format!("part \"{}\" is already defined", Truncated(key)))
}

fn check_count(args: &Args<'_, '_>, found: &Directive) -> Result<(), LineError> {
    let (line, opcode, rest) = (args.line, args.opcode, args.rest);
    match (found.kind, rest) {
        (DirectiveKind::Background, [kind, ..]) => {
            let counts = match &*line.content(*kind) {
                "solid" => [4],
                "gradient" => [7],
                "env" | "transparent" => [1],
                _ => {
                    let message = |word: Truncated<'_>| format!("unknown background \"{word}\"");
                    return Err(args.unexpected(*kind, message));
                }
            };
            count(line, opcode, rest, &counts)
        }
        (DirectiveKind::Background | DirectiveKind::Ids, []) => {
            let message = format!("{} expects at least 1 args, got 0", found.opcode);
            Err(LineError::new(opcode.start, message))
        }
        (DirectiveKind::Ids, _) => Ok(()),
        (DirectiveKind::Root, [only]) if line.is(*only, "_") => Ok(()),
        (DirectiveKind::Instance, [_, _, _, transform, more @ ..]) if line.is(*transform, "_") => {
            match more {
                [] | [_] => Ok(()),
                [_, surplus, ..] => {
                    let error = wrong_count(line, opcode, rest, found.counts);
                    Err(LineError { at: surplus.start, ..error })
                }
            }
        }
        _ => count(line, opcode, rest, found.counts),
    }
}
