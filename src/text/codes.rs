//! The macro that defines the errors of a system: the codes, from one list of variants and names, and the
//! error type.

/// Defines `enum Code` with its variants, `Code::ALL`, `Code::name` and `Display`, and `struct Error`. The
/// system's `Place` is displayed after a message: empty, or a space and the place in parentheses.
macro_rules! codes {
    ($($(#[$docs:meta])* $variant:ident = $name:literal,)*) => {
        /// The kind of an error. Programs can rely on [`Code::name`]: it is stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
        pub enum Code { $($(#[$docs])* $variant,)* }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name of the code in the specification, or our own if the specification has none.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl std::fmt::Display for Code {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        /// Why a value could not be written or read.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Error {
            /// The kind of error.
            pub code: Code,
            /// What is wrong and, where possible, what to do.
            pub message: String,
            /// Where it is.
            pub place: Place,
        }

        impl std::error::Error for Error {}

        impl std::fmt::Display for Error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let Self { code, message, place } = self;
                write!(f, "{code}: {message}{place}")
            }
        }
    };
}

pub(crate) use codes;
