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

/// Draws the runs of one row: neighbouring cells of the same style.
fn draw_row(svg: &mut String, screen: &Screen, row: u16, columns: u16) {
    let mut column = 0;
    while column < columns {
        let Some(first) = screen.cell(row, column) else { break };
        let (start, style) = (column, Look::of(first));
        let mut text = String::new();
        // The second half of a wide letter has no style of its own.
        let same = |cell: &&Cell| cell.is_wide_continuation() || Look::of(cell) == style;
        while let Some(cell) = screen.cell(row, column).filter(same) {
            if !cell.is_wide_continuation() {
                let contents = cell.contents();
                text.push_str(if contents.is_empty() { " " } else { contents });
            }
            column += 1;
        }
        if let Some(background) = &style.background {
            rectangle(svg, row, start, column - start, background);
        }
        if !text.trim().is_empty() {
            style.text(svg, row, start, column - start, &text);
        }
    }
}

fn rectangle(svg: &mut String, row: u16, column: u16, count: u16, fill: &str) {
    let (x, y) = (MARGIN + f32::from(column) * COLUMN, MARGIN + f32::from(row) * ROW);
    let width = f32::from(count) * COLUMN;
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{ROW}\" fill=\"{fill}\"/>"
    );
}

#[derive(PartialEq)]
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

    fn text(&self, svg: &mut String, row: u16, column: u16, count: u16, text: &str) {
        let (x, y) = (MARGIN + f32::from(column) * COLUMN, MARGIN + f32::from(row) * ROW + 13.5);
        let length = f32::from(count) * COLUMN;
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
            "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{}\" textLength=\"{length:.1}\"{style}>{text}</text>",
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
