//! The page docs/rust.md shows the example that is compiled and run.

#[test]
fn the_page_shows_the_example_word_for_word() {
    let (page, example) = (include_str!("../../../docs/rust.md"), include_str!("../examples/own_game.rs"));
    assert!(page.contains(&format!("```rust\n{example}```\n")), "docs/rust.md and examples/own_game.rs differ");
}
