//! The windows of a view's query as text.

use super::{COMMA, Printer, missing};
use protocol::SqlError;
use sqlparser::ast::{
    NamedWindowDefinition, NamedWindowExpr, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec,
    WindowType,
};

impl Printer<'_> {
    /// OVER of a call.
    pub(super) fn over(&mut self, window: &WindowType) -> Result<(), SqlError> {
        self.put(" over ");
        match window {
            WindowType::NamedWindow(name) => {
                self.name(&name.value);
                Ok(())
            }
            WindowType::WindowSpec(spec) => self.window(spec),
        }
    }

    /// The WINDOW clause.
    pub(super) fn named_windows(&mut self, windows: &[NamedWindowDefinition]) -> Result<(), SqlError> {
        if windows.is_empty() {
            return Ok(());
        }
        self.put(" window ");
        self.list(windows, COMMA, |printer, NamedWindowDefinition(name, window)| {
            printer.name(&name.value);
            printer.put(" as ");
            match window {
                NamedWindowExpr::WindowSpec(spec) => printer.window(spec),
                NamedWindowExpr::NamedWindow(_) => Err(missing("this WINDOW in a view")),
            }
        })
    }

    fn window(&mut self, spec: &WindowSpec) -> Result<(), SqlError> {
        self.put("(");
        let start = self.text.len();
        if let Some(name) = &spec.window_name {
            self.name(&name.value);
        }
        if !spec.partition_by.is_empty() {
            self.part(start, "partition by ");
            self.list(&spec.partition_by, COMMA, Self::expr)?;
        }
        if !spec.order_by.is_empty() {
            self.part(start, "order by ");
            self.order_items(&spec.order_by)?;
        }
        if let Some(frame) = &spec.window_frame {
            self.part(start, "");
            self.frame(frame)?;
        }
        self.put(")");
        Ok(())
    }

    /// The next part of a window, whose text begins at `start`.
    fn part(&mut self, start: usize, words: &str) {
        self.put(if self.text.len() > start { " " } else { "" });
        self.put(words);
    }

    fn frame(&mut self, frame: &WindowFrame) -> Result<(), SqlError> {
        self.put(match frame.units {
            WindowFrameUnits::Rows => "rows ",
            WindowFrameUnits::Range => "range ",
            WindowFrameUnits::Groups => "groups ",
        });
        let Some(end) = &frame.end_bound else { return self.bound(&frame.start_bound) };
        self.put("between ");
        self.bound(&frame.start_bound)?;
        self.put(" and ");
        self.bound(end)
    }

    fn bound(&mut self, bound: &WindowFrameBound) -> Result<(), SqlError> {
        let (distance, direction) = match bound {
            WindowFrameBound::CurrentRow => {
                self.put("current row");
                return Ok(());
            }
            WindowFrameBound::Preceding(distance) => (distance, " preceding"),
            WindowFrameBound::Following(distance) => (distance, " following"),
        };
        match distance {
            Some(distance) => self.expr(distance)?,
            None => self.put("unbounded"),
        }
        self.put(direction);
        Ok(())
    }
}
