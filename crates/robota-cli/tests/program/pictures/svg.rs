//! Draws the screen of a terminal as SVG.

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

/// Draws one row: runs of narrow letters of the same style. Each wide letter is drawn alone, in the
/// middle of its two columns: fonts disagree about how wide it is.
fn draw_row(svg: &mut String, screen: &Screen, row: u16, columns: u16) {
    let cells = (0..columns).filter_map(|column| Some((column, screen.cell(row, column)?)));
    // The second half of a wide letter has no style of its own.
    let cells = cells.filter(|(_, cell)| !cell.is_wide_continuation());
    let letters: Vec<_> = cells.map(|(column, cell)| (column, cell, style(cell))).collect();
    let y = MARGIN + f32::from(row) * ROW + 13.5;
    for run in letters.chunk_by(|(_, one, style), (_, next, other)| {
        !one.is_wide() && !next.is_wide() && style == other
    }) {
        let (column, first, (background, attributes)) = &run[0];
        let count = if first.is_wide() { 2 } else { u16::try_from(run.len()).unwrap_or(u16::MAX) };
        let (x, width) = (MARGIN + f32::from(*column) * COLUMN, f32::from(count) * COLUMN);
        if let Some(background) = background {
            rectangle(svg, row, *column, count, background);
        }
        let mut text = String::new();
        for (_, cell, _) in run {
            text += if cell.has_contents() { cell.contents() } else { " " };
        }
        let place = match first.is_wide() {
            true => format!("x=\"{:.1}\" text-anchor=\"middle\"", x + COLUMN),
            false => format!("x=\"{x:.1}\" textLength=\"{width:.1}\""),
        };
        if !text.trim().is_empty() {
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            *svg += &format!("<text {place} y=\"{y:.1}\" {attributes}>{text}</text>\n");
        }
    }
}

fn rectangle(svg: &mut String, row: u16, column: u16, count: u16, fill: &str) {
    let (x, y) = (MARGIN + f32::from(column) * COLUMN, MARGIN + f32::from(row) * ROW);
    let width = f32::from(count) * COLUMN;
    *svg += &format!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{ROW}\" fill=\"{fill}\" \
         shape-rendering=\"crispEdges\"/>\n"
    );
}

/// Returns the background of a cell and the attributes of its text.
fn style(cell: &Cell) -> (Option<String>, String) {
    let (mut text, mut background) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
    if cell.inverse() {
        let or =
            |colour: Option<String>, default: &str| colour.unwrap_or_else(|| default.to_owned());
        (text, background) = (Some(or(background, BACKGROUND)), Some(or(text, TEXT)));
    }
    let mut attributes = format!("fill=\"{}\"", text.as_deref().unwrap_or(TEXT));
    for (on, attribute) in [
        (cell.bold(), " font-weight=\"bold\""),
        (cell.dim(), " opacity=\"0.6\""),
        (cell.italic(), " font-style=\"italic\""),
        (cell.underline(), " text-decoration=\"underline\""),
    ] {
        attributes += if on { attribute } else { "" };
    }
    (background, attributes)
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
