//! Draws the screen of a terminal as SVG.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

const COLUMN: f32 = 8.4;
const ROW: f32 = 18.0;
const MARGIN: f32 = 12.0;
const BACKGROUND: &str = "#16181d";
const TEXT: &str = "#d7dae0";
/// The sixteen named colours.
const NAMED: [&str; 16] = [
    "#2c313a", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
    "#7f848e", "#ef8c94", "#b5d89b", "#f0d197", "#8cc5f5", "#d9a1e8", "#7fccd6", "#ffffff",
];

/// Draws a screen.
pub(super) fn draw(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let (width, height) =
        (f32::from(columns) * COLUMN + 2.0 * MARGIN, f32::from(rows) * ROW + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"14\" xml:space=\"preserve\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for row in 0..rows {
        draw_row(&mut svg, screen, row, columns);
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        rectangle(&mut svg, row, column, 1, "#d7dae080");
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws one row: its grounds first, then the runs of narrow letters of the same style. Each wide letter
/// is drawn alone, in the middle of its two columns: fonts disagree about how wide it is.
fn draw_row(svg: &mut String, screen: &Screen, row: u16, columns: u16) {
    let cells: Vec<_> = (0..columns).map_while(|column| screen.cell(row, column)).collect();
    let looks = looks(&cells);
    let mut column = 0;
    for run in looks.chunk_by(|one, next| one.background == next.background) {
        let length = count(run);
        if let Some(background) = &run[0].background {
            rectangle(svg, row, column, length, background);
        }
        column += length;
    }
    let mut column = 0;
    let pairs: Vec<_> = cells.iter().zip(&looks).collect();
    let joined = |one: &(&&Cell, &Look), next: &(&&Cell, &Look)| {
        is_narrow(one.0) && is_narrow(next.0) && one.1 == next.1
    };
    for run in pairs.chunk_by(joined) {
        let (first, look) = run[0];
        let contents = |cell: &Cell| match cell.contents() {
            "" => " ".to_owned(),
            contents => contents.to_owned(),
        };
        let text: String = run.iter().map(|(cell, _)| contents(cell)).collect();
        if !text.trim().is_empty() && !first.is_wide_continuation() {
            let columns = if first.is_wide() { None } else { Some(count(run)) };
            look.text(svg, (row, column), columns, &text);
        }
        column += count(run);
    }
}

/// Returns the looks of the cells of a row. The second half of a wide letter has no style of its own.
fn looks(cells: &[&Cell]) -> Vec<Look> {
    let mut looks: Vec<Look> = Vec::new();
    for cell in cells {
        let look = match looks.last() {
            Some(before) if cell.is_wide_continuation() => before.clone(),
            _ => Look::of(cell),
        };
        looks.push(look);
    }
    looks
}

fn is_narrow(cell: &Cell) -> bool {
    !cell.is_wide() && !cell.is_wide_continuation()
}

fn count<T>(run: &[T]) -> u16 {
    u16::try_from(run.len()).unwrap_or(u16::MAX)
}

fn rectangle(svg: &mut String, row: u16, column: u16, count: u16, fill: &str) {
    let (x, y) = (MARGIN + f32::from(column) * COLUMN, MARGIN + f32::from(row) * ROW);
    let width = f32::from(count) * COLUMN;
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{ROW}\" fill=\"{fill}\" shape-rendering=\"crispEdges\"/>"
    );
}

#[derive(Clone, PartialEq)]
struct Look {
    colour: String,
    background: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let (text, background) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
        let (text, background) = match cell.inverse() {
            true => (
                Some(background.unwrap_or_else(|| BACKGROUND.to_owned())),
                Some(text.unwrap_or_else(|| TEXT.to_owned())),
            ),
            false => (text, background),
        };
        Self {
            colour: text.unwrap_or_else(|| TEXT.to_owned()),
            background,
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
            underline: cell.underline(),
        }
    }

    /// Draws a text that fills so many columns; without a number, a wide letter in the middle of two.
    fn text(&self, svg: &mut String, (row, column): (u16, u16), columns: Option<u16>, text: &str) {
        let (x, y) = (MARGIN + f32::from(column) * COLUMN, MARGIN + f32::from(row) * ROW + 13.5);
        let (x, fit) = match columns {
            Some(count) => (x, format!("textLength=\"{:.1}\"", f32::from(count) * COLUMN)),
            None => (x + COLUMN, "text-anchor=\"middle\"".to_owned()),
        };
        let mut style = String::new();
        for (on, attribute) in [
            (self.bold, " font-weight=\"bold\""),
            (self.dim, " opacity=\"0.6\""),
            (self.italic, " font-style=\"italic\""),
            (self.underline, " text-decoration=\"underline\""),
        ] {
            style.push_str(if on { attribute } else { "" });
        }
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{}\" {fit}{style}>{text}</text>",
            self.colour
        );
    }
}

/// Returns the colour in the notation of SVG; none for the terminal's own.
fn colour(colour: Color) -> Option<String> {
    match colour {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Color::Idx(index) => Some(match index {
            0..16 => NAMED[usize::from(index)].to_owned(),
            16..232 => {
                let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
                let cube = index - 16;
                let (red, green, blue) = (cube / 36, cube / 6 % 6, cube % 6);
                format!("#{:02x}{:02x}{:02x}", level(red), level(green), level(blue))
            }
            232.. => {
                let grey = 8 + (index - 232) * 10;
                format!("#{grey:02x}{grey:02x}{grey:02x}")
            }
        }),
    }
}
