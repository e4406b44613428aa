//! Hostile files: endless, bottomless, or made to hurt a terminal or a spreadsheet. Each is refused, or read, within a bound of time and
//! memory that the system enforces.
#![cfg(unix)]

use std::fs::File;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::predict::images;
use crate::scratch::{KINK, Run, STANDOFF, Scratch};

/// The most address space that the command gets, in kB, where a hostile file is to be refused.
const MEMORY: u64 = 1 << 20;
/// The longest that it may take; ten times what it takes on a quiet machine.
const SECONDS: Duration = Duration::from_secs(20);

/// Runs the command within the bounds of memory and time.
fn bounded(scratch: &Scratch, args: &[&str], memory: u64) -> Run {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {memory}; exec timeout {} \"$0\" \"$@\"", SECONDS.as_secs());
    command.args(["-c", &script, STANDOFF]).args(args).current_dir(scratch.path("."));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    let begun = Instant::now();
    let run = Run::of(command.stdin(Stdio::null()).output().expect("it runs"));
    assert_ne!(run.code, Some(124), "{args:?} took longer than {SECONDS:?}");
    let said = format!("{:6.2} s  {}\n", begun.elapsed().as_secs_f64(), args.join(" "));
    let _ = std::io::stderr().write_all(said.as_bytes());
    run
}

fn refused(scratch: &Scratch, args: &[&str], words: &[&str]) {
    bounded(scratch, args, MEMORY).refuses(words);
}

/// Every way to name a file to read, with the file at the end.
fn readers(file: &str) -> Vec<Vec<String>> {
    let lists: [&[&str]; 11] = [
        &["solve"],
        &["check"],
        &["plan"],
        &["solve", "game.toml", "--start"],
        &["verify", "game.toml", "--point"],
        &["fair", "--config"],
        &["fair", "--data", "people.csv", "--label", "pay", "--out", "new", "--init"],
        &["robust", "--config"],
        &["robust", "--data", "pictures", "--model", "logistic", "--batch", "2", "--out", "new", "--init"],
        &["predict", "--data", "people.csv"],
        &["attack", "--data", "pictures"],
    ];
    lists.iter().map(|list| list.iter().map(|arg| (*arg).to_owned()).chain([file.to_owned()]).collect()).collect()
}

fn scratch() -> Scratch {
    let people = include_str!("../../../../examples/people.csv");
    let scratch = Scratch::with(&[("game.toml", KINK), ("people.csv", people)]);
    images(&scratch);
    scratch
}

#[test]
fn devices_and_named_pipes_are_refused_wherever_a_file_is_read() {
    let scratch = scratch();
    assert!(Command::new("mkfifo").arg(scratch.path("pipe.toml")).status().expect("mkfifo runs").success());
    for (file, word) in [("/dev/zero", "is a device"), ("/dev/random", "is a device"), ("pipe.toml", "is a named pipe")]
    {
        for args in readers(file) {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            refused(&scratch, &args, &[word]);
        }
    }
    // A table is looked for among datasets, folders and files.
    for file in ["/dev/zero", "pipe.toml"] {
        refused(&scratch, &["fair", "--data", file, "--label", "pay"], &["there is no dataset, folder or file"]);
    }
    for command in ["fair", "robust"] {
        refused(&scratch, &[command, "--data", "pictures", "--model", "pipe.toml"], &["is a named pipe"]);
    }
    assert!(!scratch.path("new").exists());
}

#[test]
fn a_file_of_two_terabytes_or_three_gigabytes_of_zeros_is_refused_at_once() {
    let scratch = scratch();
    for (size, words) in [(2_u64 << 40, &["larger than"][..]), (3 << 30, &[][..])] {
        File::create(scratch.path("vast")).and_then(|file| file.set_len(size)).expect("a sparse file");
        for args in readers("vast") {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            refused(&scratch, &args, words);
        }
    }
    scratch.write("vast.csv", b"a,b\n1,2\n");
    File::options().write(true).open(scratch.path("vast.csv")).and_then(|f| f.set_len(3 << 30)).expect("a sparse file");
    refused(&scratch, &["data", "show", "vast.csv"], &["zero"]);
    let game = "objective = \"dot(c, x) * y\"\n[min.x]\ndim = 2\nset = \"simplex\"\n[max.y]\nlower = 0\nupper = 1\n[data]\nc = \"FILE\"\n";
    for file in ["vast.npy", "vast.csv"] {
        File::create(scratch.path(file)).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
        scratch.write("data.toml", game.replace("FILE", file).as_bytes());
        refused(&scratch, &["solve", "data.toml"], &["neither a .npy file nor text"]);
    }
    scratch.write("device.toml", game.replace("FILE", "/dev/zero").as_bytes());
    bounded(&scratch, &["solve", "device.toml"], MEMORY).refuses(&[]);
}

#[test]
fn a_decompression_bomb_is_refused() {
    let scratch = Scratch::new();
    // 256 MB of rows in 1 MB of gzip.
    let mut bomb = GzEncoder::new(File::create(scratch.path("bomb.csv.gz")).expect("a file"), Compression::default());
    let rows = "a,b\n".repeat(1 << 18);
    for _ in 0..256 {
        bomb.write_all(rows.as_bytes()).expect("written");
    }
    bomb.finish().expect("written");
    refused(&scratch, &["data", "show", "bomb.csv.gz"], &["decompresses to more than 100 times its size"]);
    // Images: the header promises 2 GB of pixels.
    images(&scratch);
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    bomb.write_all(&[0, 0, 8, 3, 0, 32, 0, 0, 0, 0, 0, 32, 0, 0, 0, 32]).expect("written");
    let zeros = vec![0; 1 << 20];
    for _ in 0..256 {
        bomb.write_all(&zeros).expect("written");
    }
    std::fs::remove_file(scratch.path("pictures/train-images-idx3-ubyte")).expect("removed");
    scratch.write("pictures/train-images-idx3-ubyte.gz", &bomb.finish().expect("written"));
    refused(&scratch, &["robust", "--data", "pictures"], &["decompresses to more than 100 times its size"]);
}

#[test]
fn a_game_of_numbers_beyond_measure_is_refused_and_one_at_the_limit_fits_into_memory() {
    let scratch = Scratch::new();
    let game = |numbers: usize| {
        let text = "objective = \"dot(c, x) * y\"\n[min.x]\ndim = 2\nset = \"simplex\"\n[max.y]\nlower = 0\nupper = 1\n[data]\nc = [";
        text.to_owned() + &"1,".repeat(numbers) + "]\n"
    };
    scratch.write("game.toml", game(5 << 20).as_bytes());
    refused(
        &scratch,
        &["solve", "game.toml"],
        &["`game.toml` is larger than 8 MB; put large data into .npy or .csv files"],
    );
    refused(&scratch, &["lqr", "game.toml"], &["larger than 8 MB"]);
    scratch.write("game.toml", game((4 << 20) - 100).as_bytes());
    refused(&scratch, &["solve", "game.toml"], &["vectors of the same length"]);
}

#[test]
fn a_million_layers_are_refused_at_once() {
    let scratch = scratch();
    let layers =
        |n: usize| format!("input = [1, 8, 8]\nlayers = [{}\"flatten\", \"dense(2)\"]\n", "\"tanh\", ".repeat(n));
    for (n, words) in [(1_000_000, &["larger than"][..]), (20_000, &["layers, at most 1000"][..])] {
        scratch.write("deep.toml", layers(n).as_bytes());
        refused(&scratch, &["robust", "--data", "pictures", "--model", "deep.toml"], words);
        refused(&scratch, &["fair", "--data", "pictures", "--model", "deep.toml"], words);
    }
}

#[test]
fn forty_thousand_columns_are_read_in_a_moment() {
    let scratch = Scratch::new();
    let row = |cell: &dyn Fn(usize) -> String| (0..40_000).map(cell).collect::<Vec<_>>().join(",") + "\n";
    let mut text = row(&|i| format!("column{i}"));
    for r in 0..6 {
        text += &row(&|i| ((i * 7 + r * 13) % 10).to_string());
    }
    scratch.write("wide.csv", text.as_bytes());
    let begun = Instant::now();
    let run = bounded(&scratch, &["data", "show", "wide.csv", "--label", "none"], MEMORY);
    run.refuses(&["has no column `none`", "and 39970 more"]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    // One line of commas: names for them alone would fill the memory.
    scratch.write("commas.csv", &vec![b','; 64 << 20]);
    refused(&scratch, &["data", "show", "commas.csv"], &["has more than 1048576 columns"]);
}

/// Erases the screen, sets the title of the window, hides text, and turns the direction of text around.
const ESCAPES: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}8m\u{202e}";

#[test]
fn escapes_in_cells_keys_and_file_names_never_reach_a_terminal() {
    let scratch = Scratch::new();
    let mut table = format!("pay,sex{ESCAPES},age\n");
    for i in 0..120 {
        table +=
            &format!("{},{}{ESCAPES},{}\n", if i % 3 == 0 { "high" } else { "low" }, ["f", "m"][i % 2], 20 + i % 40);
    }
    let name = format!("people{ESCAPES}.csv").replace('/', "");
    scratch.write(&name, table.as_bytes());
    scratch.write(
        "key.toml",
        format!("objective = \"x\"\n[min.\"x{}\"]\n", ESCAPES.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007"))
            .as_bytes(),
    );
    let group = format!("sex{ESCAPES}");
    let train =
        ["fair", "--data", &name, "--label", "pay", "--group", &group, "--method", "minmax-reg", "--seeds", "1"];
    let train = [&train[..], &["--iterations", "20", "--out", "run"]].concat();
    let commands: [&[&str]; 7] = [
        &train,
        &["data", "show", &name],
        &["data", "show", &name, "--label", "none"],
        &["solve", &format!("no{name}")],
        &["solve", "key.toml"],
        &["report", &format!("no{name}")],
        &["solve", "zoo:abs", &format!("--{name}")],
    ];
    for args in commands {
        // Colours are forced, as on a terminal.
        let output = scratch.command(args).env("CLICOLOR_FORCE", "1").output().expect("it runs");
        let run = Run::of(output);
        let all = run.stdout.clone() + &run.stderr;
        for hostile in ["\u{1b}[2J", "\u{1b}]0", "\u{7}", "\u{9b}", "\u{202e}"] {
            assert!(!all.contains(hostile), "{hostile:?} in {run:#?}");
        }
        assert!(all.contains("\\u009b8m") || args[1] == "key.toml", "{run:#?}");
    }
}

#[test]
fn text_that_a_spreadsheet_would_compute_is_guarded_in_csv_files() {
    let scratch = Scratch::new();
    let mut table = "pay,sex,age\n".to_owned();
    for i in 0..120 {
        let pay = if i % 3 == 0 { "=1+cmd()" } else { "@low" };
        table += &format!("{pay},{},{}\n", ["+f()", "-m()"][i % 2], 20 + i % 40);
    }
    scratch.write("people.csv", table.as_bytes());
    let train =
        ["fair", "--data", "people.csv", "--label", "pay", "--group", "sex", "--method", "normal", "--seeds", "1"];
    scratch.run(&[&train[..], &["--iterations", "20", "--out", "run"]].concat()).exits(0);
    let model = "run/normal-seed-1/model.safetensors";
    scratch.run(&["predict", model, "--data", "people.csv", "--out", "told.csv"]).exits(0);
    for file in ["run/results.csv", "run/normal-seed-1/epochs.csv", "told.csv"] {
        let text = scratch.read(file);
        let cells = text.split([',', '\n']).map(|cell| cell.trim_start_matches('"'));
        for cell in cells.filter(|cell| cell.starts_with(['=', '+', '-', '@'])) {
            assert!(cell.parse::<f64>().is_ok(), "{file}: `{cell}`");
        }
    }
    assert!(scratch.read("told.csv").contains("'@low"), "{}", scratch.read("told.csv"));
}
