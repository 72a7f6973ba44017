use super::*;

#[test]
fn a_narrow_terminal_shows_what_every_key_does() {
    for columns in [30, 40, 80, 120] {
        let help = Help::new(&KeyMap::default());
        let lines = render(&help.rows, columns);
        let widest = lines.iter().map(Line::width).max().unwrap();
        assert!(widest <= columns, "{widest} of {columns}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let shown = words(&lines.iter().map(|it| it.plain() + "\n").collect::<String>()).concat();
        for row in &help.rows {
            let text = match row {
                Row::Title(title) => words(title).concat(),
                Row::Keys(_, what) => words(what).concat(),
            };
            assert!(shown.contains(&text), "{text} at {columns}:\n{shown}");
        }
    }
}
