//! Deliberate mistakes: which there are, and which of them a client is to make.

mod list;

pub use list::Defect;

/// Declares the mistakes: a variant each, the rules of contract §8 that it breaks, the reports that tell of it, and
/// what the mistake is.
macro_rules! defects {
    ($($variant:ident: $($rule:literal),+; $case:literal; $text:literal;)+) => {
        /// A deliberate mistake.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Defect {
            $(#[doc = $text] $variant,)+
        }

        impl Defect {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The mistake, in a sentence.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The rules of contract §8 that it breaks; the first is the one that it is there for.
            #[must_use]
            pub fn rules(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($rule),+],)+ }
            }

            /// The report that tells of it, such as `B001`.
            #[must_use]
            pub fn case(self) -> Option<&'static str> {
                let case = match self { $(Self::$variant => $case,)+ };
                (case != "-").then_some(case)
            }

            /// Its variant's name.
            pub(super) fn variant(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }
        }
    };
}
use defects;

impl Defect {
    /// Its name on the command line, such as `no-cursor-on-reconnect`.
    #[must_use]
    pub fn name(self) -> String {
        let mut name = String::new();
        let mut after_digit = false;
        for letter in self.variant().chars() {
            let starts_word = letter.is_ascii_uppercase() || letter.is_ascii_digit() && !after_digit;
            if starts_word && !name.is_empty() {
                name.push('-');
            }
            after_digit = letter.is_ascii_digit();
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    /// The mistake of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|defect| defect.name() == name)
    }
}

/// How many words of 64 bits hold a bit for each mistake.
const WORDS: usize = Defect::ALL.len().div_ceil(64);

/// The mistakes that a client is to make; none of them by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Defects([u64; WORDS]);

impl Defects {
    /// No mistake.
    pub const NONE: Self = Self([0; WORDS]);

    /// With one more.
    #[must_use]
    pub fn with(mut self, defect: Defect) -> Self {
        self.0[defect as usize / 64] |= 1 << (defect as usize % 64);
        self
    }

    /// Whether `defect` is to be made.
    #[must_use]
    pub fn has(self, defect: Defect) -> bool {
        self.0[defect as usize / 64] & (1 << (defect as usize % 64)) != 0
    }
}

impl From<Defect> for Defects {
    fn from(defect: Defect) -> Self {
        Self::NONE.with(defect)
    }
}

impl FromIterator<Defect> for Defects {
    fn from_iter<I: IntoIterator<Item = Defect>>(defects: I) -> Self {
        defects.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        let names: HashSet<_> = Defect::ALL.iter().map(|defect| defect.name()).collect();
        assert_eq!(names.len(), Defect::ALL.len());
        assert_eq!(Defect::KnowsOnlyLf.name(), "knows-only-lf");
        assert_eq!(Defect::LimitsLinesTo64Kib.name(), "limits-lines-to-64-kib");
        for defect in Defect::ALL {
            assert_eq!(Defect::by_name(&defect.name()), Some(*defect));
        }
        assert_eq!(Defect::by_name("none"), None);
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        for defect in Defect::ALL {
            let only = Defects::from(*defect);
            let held: Vec<_> = Defect::ALL.iter().filter(|other| only.has(**other)).collect();
            assert_eq!(held, [defect]);
        }
    }
}
