use super::*;
use crossterm::event::KeyEvent;

fn list() -> List<usize> {
    let names = ["compact", "context", "cost", "help"];
    let item = |(value, name): (usize, &&str)| Item {
        title: (*name).to_owned(),
        detail: format!("about {name}"),
        value,
    };
    List::new(names.iter().enumerate().map(item).collect())
}

fn press(list: &mut List<usize>, letters: &str) {
    for letter in letters.chars() {
        list.key(&KeyEvent::from(KeyCode::Char(letter)), None);
    }
}

fn selected(list: &List<usize>) -> Option<usize> {
    list.selected().map(|item| item.value)
}

#[test]
fn typing_searches_titles_and_details() {
    let mut list = list();
    press(&mut list, "con");
    assert_eq!(selected(&list), Some(1));
    press(&mut list, "x");
    assert_eq!(selected(&list), None);
    list.key(&KeyEvent::from(KeyCode::Backspace), None);
    press(&mut list, " about");
    assert_eq!(selected(&list), Some(1));
}

#[test]
fn the_selection_moves_within_the_entries() {
    let mut list = list();
    let key = KeyEvent::from(KeyCode::Null);
    list.key(&key, Some(Action::ScrollUp));
    assert_eq!(selected(&list), Some(0));
    list.key(&key, Some(Action::Bottom));
    list.key(&key, Some(Action::ScrollDown));
    assert_eq!(selected(&list), Some(3));
    assert!(matches!(list.key(&key, Some(Action::Accept)), ListKey::Accepted));
}

#[test]
fn the_selected_entry_is_always_visible() {
    let mut list = list();
    let size = Size { columns: 30, rows: 5 };
    list.view("Commands", size);
    list.key(&KeyEvent::from(KeyCode::Null), Some(Action::Bottom));
    let (lines, cursor) = list.view("Commands", size);
    let shown: Vec<String> = lines.iter().map(Line::plain).collect();
    assert_eq!(shown[0], "Commands  4/4");
    assert!(shown.last().unwrap().starts_with("▸ help"), "{shown:?}");
    assert_eq!((lines.len(), cursor.column), (5, 2));
}
