//! The README shows the example that is compiled and run.

#[test]
fn the_readme_shows_the_example_word_for_word() {
    let (readme, example) = (include_str!("../../../README.md"), include_str!("../examples/own_game.rs"));
    assert!(readme.contains(&format!("```rust\n{example}```\n")), "README.md and examples/own_game.rs differ");
}
