//! Rows whose names of columns depend on the attacker: written and read column by column.

/// Implements `Serialize` and `Deserialize` for a row about an attacker `A`. Fields are written in the order of the
/// columns; those of the field `group` stand among the others. What is derived follows from other fields by a method,
/// and is not read.
macro_rules! row {
    ($row:ident, $columns:expr, needed { $($needed:ident: $needed_name:expr),* $(,)? },
     optional { $($optional:ident: $optional_name:expr),* $(,)? },
     derived { $($derived:ident: $derived_name:expr),* $(,)? } $(, group $group:ident)?) => {
        impl<A: Tabled> serde::Serialize for $row<A> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                $(let $group = serde_json::to_value(&self.$group).map_err(serde::ser::Error::custom)?;)?
                let mut row = serializer.serialize_map(None)?;
                for column in $columns {
                    let name = column.name;
                    let shown = if self.graphs { of_graph(name) } else { name };
                    $(if name == $needed_name {
                        row.serialize_entry(shown, &self.$needed)?;
                        continue;
                    })*
                    $(if name == $optional_name {
                        if self.$optional.is_some() || !column.left_out() {
                            row.serialize_entry(name, &self.$optional)?;
                        }
                        continue;
                    })*
                    $(if name == $derived_name {
                        row.serialize_entry(name, &self.$derived())?;
                        continue;
                    })*
                    $(if let Some(value) = $group.get(name) {
                        row.serialize_entry(name, value)?;
                    })?
                }
                row.end()
            }
        }

        impl<'de, A: Tabled> serde::Deserialize<'de> for $row<A> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields<A>(std::marker::PhantomData<A>);

                impl<'de, A: Tabled> serde::de::Visitor<'de> for Fields<A> {
                    type Value = $row<A>;

                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        f.write_str("a row of results")
                    }

                    fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<$row<A>, M::Error> {
                        use serde::de::Error;
                        $(let mut $needed = None;)*
                        $(let mut $optional = None;)*
                        $(let mut $group = serde_json::Map::new();)?
                        let mut graphs = false;
                        while let Some(mut name) = map.next_key::<String>()? {
                            if let Some(of_node) = of_node(&name) {
                                (graphs, name) = (true, of_node.to_owned());
                            }
                            $(if name == $needed_name {
                                $needed = Some(map.next_value()?);
                                continue;
                            })*
                            $(if name == $optional_name {
                                $optional = map.next_value()?;
                                continue;
                            })*
                            // What nobody knows is passed over.
                            let _value: serde_json::Value = map.next_value()?;
                            $($group.insert(name, _value);)?
                        }
                        $(let $group = serde_json::from_value($group.into()).map_err(M::Error::custom)?;)?
                        Ok($row {
                            $($needed: $needed.ok_or_else(|| M::Error::missing_field($needed_name))?,)*
                            $($optional,)*
                            $($group,)?
                            graphs,
                            contradiction: None,
                        })
                    }
                }

                deserializer.deserialize_map(Fields(std::marker::PhantomData))
            }
        }
    };
}

pub(super) use row;

pub(super) use crate::column::{of_graph, of_node};
