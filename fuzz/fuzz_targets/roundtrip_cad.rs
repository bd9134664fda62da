//! Any document round-trips in every form, and any JSON is a document or an error.

#![no_main]

use compactwire::cad::{self, Dialect, Options};
use libfuzzer_sys::arbitrary::{self, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::fmt::Write;

#[path = "support/bounded.rs"]
mod bounded;

fn number(u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    let x = match u.int_in_range(0..=3)? {
        0 => f64::from(u.arbitrary::<i8>()?),
        1 => f64::from(u.arbitrary::<i16>()?) / 100.0,
        _ => u.arbitrary::<f64>()?,
    };
    Ok(if x.is_finite() { format!("{x:?}") } else { "-0.0".to_owned() })
}

fn vector(u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    Ok(format!(r#"{{"x":{},"y":{},"z":{}}}"#, number(u)?, number(u)?, number(u)?))
}

fn text(u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    let mut out = "\"".to_owned();
    for c in u.arbitrary::<&str>()?.chars().take(12) {
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Ok(out + "\"")
}

/// An operation on earlier nodes, solids or not, so that some documents are refused.
fn op(u: &mut Unstructured<'_>, ids: &[u64]) -> arbitrary::Result<String> {
    let id = |u: &mut Unstructured<'_>| -> arbitrary::Result<u64> {
        Ok(if ids.is_empty() { 0 } else { *u.choose(ids)? })
    };
    Ok(match u.int_in_range(0..=12)? {
        0 => format!(r#"{{"type":"Cube","size":{}}}"#, vector(u)?),
        1 => format!(
            r#"{{"type":"Cylinder","radius":{},"height":{},"segments":{}}}"#,
            number(u)?,
            number(u)?,
            u.arbitrary::<u32>()?
        ),
        2 => r#"{"type":"Empty"}"#.to_owned(),
        3 => format!(r#"{{"type":"Union","left":{},"right":{}}}"#, id(u)?, id(u)?),
        4 => format!(r#"{{"type":"Translate","child":{},"offset":{}}}"#, id(u)?, vector(u)?),
        5 => format!(
            r#"{{"type":"Sketch2D","origin":{0},"x_dir":{0},"y_dir":{0},"segments":[{{"type":"Arc","start":{{"x":{1},"y":{1}}},"end":{{"x":{1},"y":{2}}},"center":{{"x":{2},"y":{2}}},"ccw":{3}}}]}}"#,
            vector(u)?,
            number(u)?,
            number(u)?,
            u.arbitrary::<bool>()?
        ),
        6 => format!(
            r#"{{"type":"Extrude","sketch":{},"direction":{},"twist_angle":{}}}"#,
            id(u)?,
            vector(u)?,
            number(u)?
        ),
        7 => format!(
            r#"{{"type":"Text2D","origin":{0},"x_dir":{0},"y_dir":{0},"text":{1},"font":{1},"height":1,"alignment":"right","line_spacing":{2}}}"#,
            vector(u)?,
            text(u)?,
            number(u)?
        ),
        8 => format!(r#"{{"type":"step_import","path":{}}}"#, text(u)?),
        9 => format!(
            r#"{{"type":"LinearPattern","child":{},"direction":{},"count":{},"spacing":{}}}"#,
            id(u)?,
            vector(u)?,
            u.arbitrary::<u32>()?,
            number(u)?
        ),
        10 => format!(r#"{{"type":"Fillet","child":{},"radius":{}}}"#, id(u)?, number(u)?),
        11 => format!(r#"{{"type":"Sphere","radius":{},"segments":0}}"#, number(u)?),
        _ => format!(r#"{{"type":"Shell","child":{},"thickness":{}}}"#, id(u)?, number(u)?),
    })
}

fn document(u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    let (mut nodes, mut ids) = (Vec::new(), Vec::new());
    for _ in 0..u.int_in_range(0..=12)? {
        let id = if u.arbitrary()? { u.arbitrary::<u8>()?.into() } else { u.arbitrary::<u64>()? };
        if ids.contains(&id) {
            continue;
        }
        let name = if u.arbitrary()? { text(u)? } else { "null".to_owned() };
        let op = op(u, &ids)?;
        nodes.push(format!(r#""{id}":{{"id":{id},"name":{name},"op":{op}}}"#));
        ids.push(id);
    }
    let mut json = format!(r#"{{"version":{},"nodes":{{{}}}"#, text(u)?, nodes.join(","));
    let material = format!(
        r#"{{"name":{},"color":[{1},{1},1],"metallic":0,"roughness":{1},"friction":{1}}}"#,
        text(u)?,
        number(u)?
    );
    let _ = write!(json, r#","materials":{{{}:{material}}}"#, text(u)?);
    if let (Some(root), true) = (ids.last(), u.arbitrary()?) {
        let _ = write!(json, r#","roots":[{{"root":{root},"material":{}}}]"#, text(u)?);
    }
    if u.arbitrary()? {
        let _ = write!(
            json,
            r#","instances":[{{"id":{0},"partDefId":{0}}}],"joints":[{{"id":{0},"parentInstanceId":{0},"childInstanceId":{0},"parentAnchor":{1},"childAnchor":{1},"kind":{{"type":"Slider","axis":{1},"limits":[0,{2}]}},"state":{2},"name":{0}}}]"#,
            text(u)?,
            vector(u)?,
            number(u)?
        );
    }
    if u.arbitrary()? {
        let _ = write!(
            json,
            r#","scene":{{"environment":{{"type":"Custom","url":{0}}},"lights":[{{"id":{0},"kind":{{"type":"Spot","position":{1},"direction":{1},"penumbra":{2}}},"color":[0,{2},1],"intensity":{2},"castShadow":true}}],"cameraPresets":[{{"id":{0},"name":{0},"position":{1},"target":{1}}}]}}"#,
            text(u)?,
            vector(u)?,
            number(u)?
        );
    }
    Ok(json + "}")
}

/// Asserts that any JSON object round-trips in dialect 0.2, inside the model or not.
fn keep(json: &str) {
    let Ok(document) = cad::read_json_text_kept(json) else { return };
    let text = cad::write_v0_2(&document).unwrap();
    let again = cad::read_text(&text, Dialect::Auto).unwrap();
    assert_eq!(cad::write_json(&again), cad::write_json(&document));
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = cad::read_json_lossy(text, true);
        let _ = cad::read_hybrid_text(text);
        let _ = cad::load_with(data, cad::LoadOptions { repair: true, ..Default::default() });
        keep(text);
    }
    let Ok(json) = document(&mut Unstructured::new(data)) else { return };
    let Ok((document, false)) = cad::read_json_lossy(&json, false) else { return };
    let canonical = cad::write_json(&document);
    let text = cad::write_v0_2(&document).unwrap();
    assert_eq!(cad::write_json(&cad::read_text(&text, Dialect::Auto).unwrap()), canonical);
    let bytes = cad::write_binary(&document).unwrap();
    assert_eq!(cad::write_json(&cad::read_binary(&bytes).unwrap()), canonical);
    assert_eq!(cad::write_json(&cad::load(canonical.as_bytes()).unwrap()), canonical);
    for names in [false, true] {
        let lossy = cad::write_v0_1(&document, Options { names, lossy: true }).unwrap();
        let nodes = cad::read_text(&lossy, Dialect::V0_1).unwrap().nodes.len();
        assert!(nodes <= document.nodes.len());
        if let Ok(text) = cad::write_v0_1(&document, Options { names, lossy: false }) {
            let again = cad::read_text(&text, Dialect::V0_1).unwrap();
            assert_eq!(again.nodes.len(), document.nodes.len());
        }
    }
}));
