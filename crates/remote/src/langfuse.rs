/// What goes over the wire, the same types in both directions.
pub mod wire;
