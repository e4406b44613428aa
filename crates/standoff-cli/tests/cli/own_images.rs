//! Images of the user: folders of PNG by class and NumPy's archives, from `data show` to `attack`.

use std::fs;
use std::path::Path;

use crate::scratch::Scratch;

const NET: &[u8] = b"input = [3, 4, 4]\nlayers = [\"flatten\", \"dense(2)\"]\n";

/// Colour images of 4 x 4 pixels: class `a` is red, class `b` is blue.
fn pictures(folder: &Path) {
    for (part, n) in [("train", 20_u8), ("test", 5)] {
        for (class, colour) in [("a", [200, 40, 40]), ("b", [40, 40, 200])] {
            let inside = folder.join(part).join(class);
            fs::create_dir_all(&inside).expect("a folder");
            for i in 0..n {
                let file = fs::File::create(inside.join(format!("{i}.png"))).expect("a file");
                let mut encoder = png::Encoder::new(file, 4, 4);
                encoder.set_color(png::ColorType::Rgb);
                let pixels: Vec<u8> = (0..16).flat_map(|k| colour.map(|c| c + i + k)).collect();
                encoder.write_header().expect("a header").write_image_data(&pixels).expect("pixels");
            }
        }
    }
}

#[test]
fn a_folder_of_colour_images_is_shown_trained_on_attacked_and_drawn() {
    let scratch = Scratch::new();
    pictures(&scratch.path("mine"));
    scratch.write("net.toml", NET);
    let shown = scratch.run(&["data", "show", "mine"]).exits(0).stdout;
    assert!(shown.contains("4 x 4 pixels in colour") && shown.contains("a") && shown.contains("20"), "{shown}");
    let fair = ["fair", "--data", "mine", "--classes", "b,a", "--model", "net.toml", "--method", "minmax-reg"];
    let more = ["--iterations", "20", "--lr", "0.02", "--seeds", "1", "--out", "fair"];
    let run = scratch.run(&[&fair[..], &more].concat()).exits(0);
    assert!(run.stdout.contains("worst group 5, average 5"), "{run:#?}");
    let robust =
        ["robust", "--data", "mine", "--model", "net.toml", "--method", "madry", "--eps", "8/255", "--steps", "2"];
    let more = ["--epochs", "10", "--batch", "10", "--ramp", "5", "--ramp-from", "4/255", "--out", "robust"];
    scratch.run(&[&robust[..], &more].concat()).exits(0);
    assert!(
        scratch.read("robust/config.toml").contains("ramp_from = 0.0156"),
        "{}",
        scratch.read("robust/config.toml")
    );
    let attack = ["attack", "robust/model.safetensors", "--data", "mine", "--eps", "0.5", "--out", "attacked"];
    let run = scratch.run(&attack).exits(0);
    assert!(run.stdout.contains("10 test images"), "{run:#?}");
    // Classes by name or by number, of both networks.
    for file in ["robust/model.safetensors", "fair/minmax-reg-0.1-seed-1/model.safetensors"] {
        for (classes, images) in [("B", 5), ("1", 5), ("a,1", 10)] {
            let chosen = ["attack", file, "--data", "mine", "--classes", classes, "--attacks", "fgsm", "--json"];
            let found = scratch.run(&chosen).exits(0).json();
            assert_eq!(found["budgets"][0]["natural"]["all"]["total"], images, "{file} {classes}");
        }
    }
    scratch
        .run(&["attack", "robust/model.safetensors", "--data", "mine", "--classes", "c"])
        .refuses(&["no class `c`", "a, b"]);
    let file = fs::File::open(scratch.path("attacked/pictures.png")).expect("a picture");
    let mut reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    reader.next_frame(&mut pixels).expect("pixels");
    // The red image, not a grey one.
    assert!(pixels.chunks(3).any(|p| p[0] > 190 && p[1] < 90 && p[2] < 90), "no red pixel");
}

#[test]
fn the_slope_of_ramp_before_eps_grows_is_a_flag() {
    let scratch = Scratch::new();
    pictures(&scratch.path("mine"));
    scratch.write("net.toml", b"input = [3, 4, 4]\nlayers = [\"flatten\", \"dense(4)\", \"ramp\", \"dense(2)\"]\n");
    let ibp = ["robust", "--data", "mine", "--model", "net.toml", "--method", "ibp", "--eps", "8/255", "--batch", "10"];
    let run = |slope, out| scratch.run(&[&ibp[..], &["--epochs", "2", "--slope", slope, "--out", out]].concat());
    for slope in ["0", "0.25"] {
        run(slope, slope).exits(0);
    }
    assert!(!scratch.read("0/config.toml").contains("slope"), "{}", scratch.read("0/config.toml"));
    assert!(scratch.read("0.25/config.toml").contains("slope = 0.25"), "{}", scratch.read("0.25/config.toml"));
    // It changes the training, not only the record of it.
    let file = |run: &str| fs::read(scratch.path(&format!("{run}/model.safetensors"))).expect("a network");
    assert_ne!(file("0"), file("0.25"));
    run("2", "two").refuses(&["the slope of ramp is 2: want a number from 0 to 1"]);
}

#[test]
fn a_ramp_from_above_eps_and_images_of_another_shape_are_refused() {
    let scratch = Scratch::new();
    pictures(&scratch.path("mine"));
    scratch.write("net.toml", NET);
    let robust = ["robust", "--data", "mine", "--model", "net.toml", "--batch", "10", "--eps", "0.1"];
    scratch
        .run(&[&robust[..], &["--ramp-from", "0.2"]].concat())
        .refuses(&["ramp_from is 0.2: want a number from 0 to eps, which is 0.1"]);
    scratch.write("other.toml", b"input = [3, 8, 8]\nlayers = [\"flatten\", \"dense(2)\"]\n");
    let other = ["robust", "--data", "mine", "--model", "other.toml", "--batch", "10"];
    scratch.run(&other).refuses(&["the model takes inputs of 3x8x8, the data has 3x4x4"]);
    scratch.write("bad.npz", b"PK\x03\x04 cut off");
    scratch.run(&["data", "show", "bad.npz"]).refuses(&["bad.npz", "zip archive"]);
    fs::write(scratch.path("mine/test/b/3.png"), b"\x89PNG\r\n\x1a\n").expect("a file");
    scratch.run(&["data", "show", "mine"]).refuses(&["3.png", "is no readable PNG"]);
}
