//! The enum of a system's error codes, from one list of variants and names.

/// Defines `enum Code` with its variants, `Code::ALL`, `Code::name` and `Display`.
macro_rules! codes {
    ($($(#[$docs:meta])* $variant:ident = $name:literal,)*) => {
        /// The kind of an error. Programs can rely on [`Code::name`]: it is stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$docs])* $variant,)* }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name of the code in the specification, or our own.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl std::fmt::Display for Code {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use codes;
