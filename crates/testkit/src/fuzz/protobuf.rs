//! Mutations of protobuf messages that preserve valid lengths, so that the damage is deep inside
//! and not at the first length.

use crate::seeded_random::SeededRandom;

/// One field of a message.
#[derive(Clone, Debug)]
struct Field {
    number: u64,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Varint(u64),
    Eight([u8; 8]),
    Four([u8; 4]),
    Bytes(Vec<u8>),
    Message(Vec<Field>),
}

/// Deeper messages are left as bytes.
const MAX_DEPTH: usize = 12;

/// A mutated copy of the message; `None` when the input is not a message.
pub(super) fn mutate(input: &[u8], chance: &mut SeededRandom) -> Option<Vec<u8>> {
    let mut message = parse(input, 0)?;
    let places = count(&message);
    let mut target = chance.below(places);
    change(&mut message, &mut target, chance);
    Some(encode(&message))
}

fn parse(mut bytes: &[u8], depth: usize) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut bytes)?),
            1 => Value::Eight(*take(&mut bytes, 8)?.first_chunk()?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let inner = take(&mut bytes, length)?;
                let message =
                    (depth < MAX_DEPTH && !inner.is_empty()).then(|| parse(inner, depth + 1));
                message.flatten().map_or_else(|| Value::Bytes(inner.to_vec()), Value::Message)
            }
            5 => Value::Four(*take(&mut bytes, 4)?.first_chunk()?),
            _ => return None,
        };
        fields.push(Field { number: tag >> 3, value });
    }
    Some(fields)
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for place in 0..10 {
        let byte = *take(bytes, 1)?.first()?;
        value |= u64::from(byte & 0x7f).checked_shl(place * 7)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn count(message: &[Field]) -> usize {
    let inside = |field: &Field| match &field.value {
        Value::Message(inner) => count(inner),
        _ => 0,
    };
    1 + message.iter().map(|field| 1 + inside(field)).sum::<usize>()
}

/// Mutates the nth message or field in order.
fn change(message: &mut Vec<Field>, number: &mut usize, chance: &mut SeededRandom) -> bool {
    if *number == 0 {
        rearrange(message, chance);
        return true;
    }
    *number -= 1;
    for field in message {
        if *number == 0 {
            distort(field, chance);
            return true;
        }
        *number -= 1;
        if let Value::Message(inner) = &mut field.value
            && change(inner, number, chance)
        {
            return true;
        }
    }
    false
}

fn rearrange(message: &mut Vec<Field>, chance: &mut SeededRandom) {
    if message.is_empty() {
        message.push(Field { number: 1, value: Value::Varint(chance.number()) });
        return;
    }
    let at = chance.below(message.len());
    match chance.below(4) {
        0 => drop(message.remove(at)),
        1 => {
            let copies = [1, 2, 300][chance.below(3)];
            let copy = message[at].clone();
            message.extend(std::iter::repeat_n(copy, copies));
        }
        2 => message.reverse(),
        _ => {
            let itself = message.clone();
            message[at].value = Value::Message(itself);
        }
    }
}

fn distort(field: &mut Field, chance: &mut SeededRandom) {
    let odd = [0, 1, u64::MAX, 1 << 63, 0x7fff_ffff, 1 << 32];
    field.value = match (chance.below(8), field.value.clone()) {
        (0, value) => {
            field.number = *chance.pick(&[0, 1, 2, 5, 7, 15, 16, 536_870_911]);
            value
        }
        (1, _) => Value::Varint(*chance.pick(&odd)),
        (2, _) => Value::Eight(chance.pick(&odd).to_le_bytes()),
        (3, _) => Value::Four([0xff; 4]),
        (4, Value::Bytes(bytes)) => Value::Bytes(bytes.repeat(1 + chance.below(50))),
        (5, Value::Bytes(bytes)) => {
            let shorter = chance.below(bytes.len() + 1);
            Value::Bytes(bytes.into_iter().take(shorter).collect())
        }
        (6, value) => {
            let nest =
                |inner, _| Value::Message(vec![Field { number: field.number, value: inner }]);
            (0..[2, 70, 150][chance.below(3)]).fold(value, nest)
        }
        (_, Value::Bytes(mut bytes)) if !bytes.is_empty() => {
            let at = chance.below(bytes.len());
            bytes[at] ^= 0x80 >> chance.below(8);
            Value::Bytes(bytes)
        }
        _ => Value::Bytes(b"\xff\xfe\0".to_vec()),
    };
}

fn encode(message: &[Field]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Field { number, value } in message {
        match value {
            Value::Varint(value) => {
                put_varint(&mut bytes, number << 3);
                put_varint(&mut bytes, *value);
            }
            Value::Eight(value) => {
                put_varint(&mut bytes, number << 3 | 1);
                bytes.extend(value);
            }
            Value::Four(value) => {
                put_varint(&mut bytes, number << 3 | 5);
                bytes.extend(value);
            }
            Value::Bytes(inner) => put_bytes(&mut bytes, *number, inner),
            Value::Message(inner) => put_bytes(&mut bytes, *number, &encode(inner)),
        }
    }
    bytes
}

fn put_bytes(bytes: &mut Vec<u8>, number: u64, inner: &[u8]) {
    put_varint(bytes, number << 3 | 2);
    put_varint(bytes, inner.len() as u64);
    bytes.extend(inner);
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
}
