//! Finding datasets in folders made for the purpose.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use standoff_nn::data::IDX_FILES;
use standoff_train::data::find::{Found, Source, copies, find};
use standoff_train::data::known::{FASHION, MNIST};
use standoff_train::data::places::SearchFolders;
use standoff_train::data::tables::ADULT;
use standoff_train::data::verify::{Verdict, verify, verify_file};

/// A dataset of 1 x 1 images with the given labels, as four plain files.
fn dataset(folder: &Path, labels: &[u8], suffix: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let n = labels.len() as u8;
    let head = |dims: u8| [0, 0, 8, dims, 0, 0, 0, n];
    for (i, name) in IDX_FILES.iter().enumerate() {
        let bytes = if i % 2 == 0 {
            [&head(3)[..], &[0, 0, 0, 1, 0, 0, 0, 1], labels].concat()
        } else {
            [&head(1)[..], labels].concat()
        };
        fs::write(folder.join(format!("{name}{suffix}")), bytes).expect("a file");
    }
}

fn scratch() -> (TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().to_owned();
    (folder, move |name: &str| root.join(name))
}

fn images(source: Source) -> Found {
    match source {
        Source::Images(found) => found,
        Source::Table(path) => panic!("a table: {path:?}"),
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_complete_copy_is_better_than_an_earlier_part() {
    let (_keep, at) = scratch();
    let around = SearchFolders { chosen: Some(at("first")), system: Some(at("last")), ..SearchFolders::default() };
    dataset(&at("first/fashion-tops"), &[0, 2, 4, 6], ".gz");
    let found = images(find(Some("fashion"), &MNIST, &around).expect("the tops"));
    let note = found.note().expect("a note");
    assert!(note.contains("only 4 of the 10") && note.contains("0 T-shirt/top, 2 Pullover, 4 Coat, 6 Shirt"), "{note}");
    let refusal = found.load(Some(&[0, 9])).expect_err("class 9").to_string();
    assert!(refusal.contains("no images of class 9") && refusal.contains("standoff data fetch fashion"), "{refusal}");
    assert_eq!(found.load(Some(&[6, 0])).expect("two classes").train.labels, [1, 0]);

    dataset(&at("last/fashion-mnist"), &[0, 1, 2], "");
    let found = images(find(Some("fashion"), &MNIST, &around).expect("all"));
    assert_eq!((found.folder.clone(), found.note()), (at("last/fashion-mnist"), None));
    assert_eq!(copies(&FASHION, &around).len(), 2);
    // Nothing here is what it says: the contents differ.
    assert!(verify(&found).iter().all(|(_, verdict)| matches!(verdict, Verdict::Differs(_))));
    fs::write(&found.files.published()[0], [0x1f, 0x8b, 0]).expect("a file");
    assert!(matches!(&verify(&found)[0].1, Verdict::Broken(why) if why.contains("truncated")));
}

#[test]
fn earlier_places_win() {
    let (_keep, at) = scratch();
    let around = SearchFolders {
        chosen: Some(at("chosen")),
        cache: Some(at("cache")),
        working: Some(at("work")),
        executable: Some(at("bin")),
        system: Some(at("system")),
    };
    fs::create_dir_all(at("bin")).expect("a folder");
    for folder in ["system/MNIST/raw", "bin/data/mnist", "work/data/mnist", "cache/mnist", "chosen/mnist"] {
        dataset(&at(folder), &[1, 2], "");
        let found = images(find(None, &MNIST, &around).expect("a dataset"));
        assert_eq!(found.folder, at(folder));
    }
}

#[test]
fn standoff_data_may_name_the_folder_of_the_dataset_itself() {
    let (_keep, at) = scratch();
    for folder in ["sets/fashion-mnist", "sets/FashionMNIST/raw", "mine/fashion"] {
        dataset(&at(folder), &[1, 2], "");
        let around = SearchFolders { chosen: Some(at(folder)), ..SearchFolders::default() };
        assert_eq!(images(find(None, &FASHION, &around).expect("a dataset")).folder, at(folder));
    }
    // A folder that happens to have such a name may still hold datasets.
    dataset(&at("other/mnist/mnist"), &[1, 2], "");
    let around = SearchFolders { chosen: Some(at("other/mnist")), ..SearchFolders::default() };
    assert!(find(None, &MNIST, &around).is_ok());
}

#[test]
fn a_folder_holds_the_files_or_the_dataset() {
    let (_keep, at) = scratch();
    let nowhere = SearchFolders::default();
    dataset(&at("mine"), &[3, 3, 8], "");
    let found = images(find(Some(text(&at("mine"))), &FASHION, &nowhere).expect("a folder"));
    assert_eq!((found.known, found.class_name(3), found.note()), (None, "3".to_owned(), None));
    assert_eq!(found.load(None).expect("images").test.labels, [3, 3, 8]);
    // One of its files means the folder.
    let file = at("mine").join(IDX_FILES[2]);
    assert_eq!(images(find(Some(text(&file)), &FASHION, &nowhere).expect("a file")), found);
    // A folder of datasets is asked for the usual one.
    dataset(&at("sets/FashionMNIST/raw"), &[9], ".gz");
    let found = images(find(Some(text(&at("sets"))), &FASHION, &nowhere).expect("a folder of folders"));
    assert_eq!(found.class_name(9), "Ankle boot");
    // Kaggle writes a dot.
    dataset(&at("dots"), &[1], "");
    for name in IDX_FILES {
        fs::rename(at("dots").join(name), at("dots").join(name.replace("-idx", ".idx"))).expect("a new name");
    }
    assert!(find(Some(text(&at("dots"))), &FASHION, &nowhere).is_ok());
}

#[test]
fn the_bundled_folder_is_recognised_under_any_name() {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/fashion-tops");
    let found = images(find(Some(text(&bundled)), &MNIST, &SearchFolders::default()).expect("the tops"));
    assert_eq!((found.class_name(4), found.note().is_some()), ("Coat".to_owned(), true));
    let data = found.load(Some(&[0, 4, 6])).expect("three classes");
    assert_eq!((data.train.len(), data.test.counts()[2]), (18_000, 1000));
}

#[test]
fn other_files_are_tables() {
    let (_keep, at) = scratch();
    for (name, bytes) in [("a.csv", &b"a,b\n1,2\n"[..]), ("b.csv.gz", &[0x1f, 0x8b, 8, 0]), ("c", b"x;y\n")] {
        fs::write(at(name), bytes).expect("a file");
        let found = find(Some(text(&at(name))), &FASHION, &SearchFolders::default()).expect("a table");
        assert_eq!(found, Source::Table(at(name)));
    }
}

#[test]
fn what_is_not_there_is_explained() {
    let (_keep, at) = scratch();
    let around = SearchFolders { cache: Some(at("cache")), system: Some(at("system")), ..SearchFolders::default() };
    let refusal = |named: Option<&str>| find(named, &MNIST, &around).expect_err("a refusal").full();
    let message = refusal(None);
    for word in ["was not found", "`mnist`", "STANDOFF_DATA", "data fetch mnist", "--data FOLDER"] {
        assert!(message.contains(word), "no `{word}` in {message}");
    }
    for place in [at("cache"), at("system")] {
        assert!(message.contains(text(&place)), "{message}");
    }
    assert!(refusal(Some("minst")).contains("did you mean `mnist`?"));
    assert!(refusal(Some("people.csv")).contains("there is no dataset, folder or file `people.csv`"));
    fs::create_dir(at("empty")).expect("a folder");
    assert!(refusal(Some(text(&at("empty")))).contains("has neither the files"));
    dataset(&at("part"), &[1], "");
    fs::remove_file(at("part").join(IDX_FILES[3])).expect("a file");
    let message = refusal(Some(text(&at("part"))));
    assert!(message.contains("lacks t10k-labels-idx1-ubyte (plain or .gz)"), "{message}");
}

#[test]
fn a_table_with_a_name_is_found_in_its_folder_and_the_bundled_one_is_genuine() {
    let (_keep, at) = scratch();
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let around = SearchFolders { chosen: Some(at("first")), system: Some(bundled), ..SearchFolders::default() };
    let table = |name: &str| match find(Some(name), &MNIST, &around) {
        Ok(Source::Table(path)) => path,
        other => panic!("{other:?}"),
    };
    let adult = table("Adult");
    assert!(adult.ends_with("data/adult/adult.csv.gz"), "{adult:?}");
    assert_eq!(verify_file(&adult, ADULT.sum), Verdict::Genuine);
    fs::create_dir_all(at("first/adult")).expect("a folder");
    fs::write(at("first/adult/adult.csv"), "a,b\n1,2\n").expect("a file");
    assert_eq!(table("adult"), at("first/adult/adult.csv"));
    let message = find(Some("german"), &MNIST, &around).expect_err("no such copy").to_string();
    assert!(message.contains("`german/german.csv`") && message.contains("standoff data fetch german"), "{message}");
    let message = find(Some("adlt"), &MNIST, &around).expect_err("a slip").to_string();
    assert!(message.contains("did you mean `adult`?"), "{message}");
}
