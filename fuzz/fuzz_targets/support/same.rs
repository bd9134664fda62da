//! Equality of values, ignoring the order of members and the spelling of numbers.

use compactwire::value::Value;

pub fn same(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            let mut left: Vec<_> = left.iter().collect();
            let mut right: Vec<_> = right.iter().collect();
            left.sort_by(|a, b| a.0.cmp(&b.0));
            right.sort_by(|a, b| a.0.cmp(&b.0));
            left.len() == right.len()
                && left.iter().zip(right).all(|(l, r)| l.0 == r.0 && same(&l.1, &r.1))
        }
        (Value::Int(int), Value::Float(float)) | (Value::Float(float), Value::Int(int)) => {
            float.abs() < 9_007_199_254_740_992.0 && *int as f64 == *float
        }
        _ => left == right,
    }
}
