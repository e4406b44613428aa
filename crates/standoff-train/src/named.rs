//! Options with a fixed list of names, for command lines, files and messages.

/// One of a fixed list of options.
pub trait Named: Copy + Send + Sync + 'static {
    /// Every option, in the order of the help.
    const ALL: &'static [Self];

    /// Its name on the command line and in files.
    fn name(self) -> &'static str;

    /// A line for the help.
    fn about(self) -> &'static str;
}

/// Implements [`Named`] for an enum: `Variant, "name", "about";` for each variant.
macro_rules! named {
    ($kind:ty: $($variant:ident, $name:literal, $about:literal;)+) => {
        impl $crate::named::Named for $kind {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            fn about(self) -> &'static str {
                match self { $(Self::$variant => $about),+ }
            }
        }
    };
}
pub(crate) use named;

/// Defines an enum with [`Named`]: `Variant = "name": "about",` for each variant. The name is that in files, and the line for the help
/// documents the variant.
macro_rules! named_enum {
    ($(#[$whole:meta])* pub enum $kind:ident { $($(#[$own:meta])* $variant:ident = $name:literal: $about:literal,)+ }) => {
        $(#[$whole])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $kind {
            $(#[doc = $about] #[serde(rename = $name)] $(#[$own])* $variant),+
        }
        $crate::named::named! { $kind: $($variant, $name, $about;)+ }
    };
}
pub(crate) use named_enum;

/// The methods of the library, which have names of their own.
macro_rules! forward {
    ($kind:ty) => {
        impl Named for $kind {
            const ALL: &'static [Self] = &<$kind>::ALL;

            fn name(self) -> &'static str {
                <$kind>::name(self)
            }

            fn about(self) -> &'static str {
                <$kind>::about(self)
            }
        }
    };
}
forward!(standoff_nn::fair::FairMethod);
forward!(standoff_nn::robust::RobustMethod);
