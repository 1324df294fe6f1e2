//! WITH: common table expressions, also recursive ones.
//!
//! A name of WITH is seen by the expressions behind it and by the query that WITH belongs to, with all queries in that.
//! It hides tables and outer expressions of the same name.
//!
//! *Recursion.* The parts that a recursive expression begins with are bound first: they give the columns their types,
//! and each column may be NULL. The parts behind them read the expression under a number of its own, which means the
//! rows of the round before.

use super::Binder;
use super::from::{Part, names_of, query_table, take_slots};
use super::query::{BoundQuery, QueryBody, QueryParts, query_parts, united};
use crate::algebra::Draft;
use crate::plan::{
    CommonRead, CommonTable, Equals, Limit, Reads, Recursion, Relation, ResultColumn, SelectPlan, SetStep,
    SetVerb, Source,
};
use crate::syntax::syntax_error_at_word;
use protocol::SqlError;
use sqlparser::ast::{Cte, TableAliasColumnDef, With};
use std::sync::Arc;

/// A common table expression that may be read where the binder is.
#[derive(Debug)]
pub(crate) struct CommonScope {
    name: String,
    number: u32,
    /// None: its first part is being bound, which must not read it.
    columns: Option<(Vec<String>, Vec<ResultColumn>)>,
    /// The plan of it; None while it is bound.
    made: Option<(SelectPlan, Option<Recursion>)>,
    /// How many SELECTs are around its own, and how many rounds.
    place: (usize, usize),
    /// Its readers so far.
    readers: usize,
    /// One of them runs more often than its query does.
    is_read_again: bool,
}

impl Binder<'_> {
    /// Binds the expressions of WITH; gives how many there were before.
    pub(super) fn open_with(&mut self, clauses: &[&With]) -> Result<usize, SqlError> {
        let before = self.common.len();
        for clause in clauses {
            let first = self.common.len();
            for cte in &clause.cte_tables {
                if cte.from.is_some() || cte.materialized.is_some() {
                    return Err(syntax_error_at_word(self.text, &["MATERIALIZED", "NOT", "FROM"]));
                }
                let name = &cte.alias.name.value;
                if self.common[first..].iter().any(|other| other.name == *name) {
                    return Err(SqlError::new(1066, format!("Not unique table/alias: '{name}'")));
                }
                if clause.recursive { self.recursive_cte(cte)? } else { self.cte(cte)? }
            }
        }
        Ok(before)
    }

    /// Takes the expressions out of sight again and gives those that are read to the plan that reads them.
    pub(super) fn close_with(&mut self, before: usize, plan: &mut SelectPlan) {
        let closed = self.common.split_off(before);
        let tables: Vec<Arc<CommonTable>> = closed.into_iter().filter_map(CommonScope::table).collect();
        if tables.is_empty() {
            return;
        }
        let wrap = |relation: &mut Relation| {
            let input = Box::new(std::mem::replace(relation, Relation::One));
            *relation = Relation::With { tables, input };
        };
        match (&mut plan.over_groups, &mut plan.source) {
            (Some(relation), _) | (None, Source::Joined { relation, .. }) => wrap(relation),
            // A plan without relations reads none of them.
            (None, Source::Nothing | Source::Table(_)) => {}
        }
    }

    fn cte(&mut self, cte: &Cte) -> Result<(), SqlError> {
        let (plan, columns) = self.nested_query(&cte.query)?;
        let names = names_of(&cte.alias.columns, &columns)?;
        let scope = self.common_scope(cte, Some((names, columns)));
        self.common.push(CommonScope { made: Some((plan, None)), ..scope });
        Ok(())
    }

    fn common_scope(&mut self, cte: &Cte, columns: Option<(Vec<String>, Vec<ResultColumn>)>) -> CommonScope {
        CommonScope {
            name: cte.alias.name.value.clone(),
            number: self.common_number(),
            columns,
            made: None,
            place: (self.outward.blocks.len(), self.rounds),
            readers: 0,
            is_read_again: false,
        }
    }

    pub(super) fn common_number(&mut self) -> u32 {
        self.virtuals.count += 1;
        self.virtuals.count
    }

    /// An expression of WITH RECURSIVE, which may read itself.
    fn recursive_cte(&mut self, cte: &Cte) -> Result<(), SqlError> {
        let parts = query_parts(self.text, &cte.query)?;
        let position = self.common.len();
        let scope = self.common_scope(cte, None);
        self.common.push(scope);
        let QueryBody::Several(body) = &parts.body else {
            let (plan, columns) = self.nested_query(&cte.query).map_err(|error| match error.code {
                FIRST_READS_ITSELF => requires_union(cte),
                _ => error,
            })?;
            let names = names_of(&cte.alias.columns, &columns)?;
            self.common[position].columns = Some((names, columns));
            self.common[position].made = Some((plan, None));
            return Ok(());
        };
        let before = self.open_with(&parts.withs)?;
        let branches = self.branch_bodies(body)?;
        let mut first: Vec<(SetStep, BoundQuery)> = Vec::new();
        let mut steps: Vec<(SetStep, SelectPlan)> = Vec::new();
        let last = self.common_number();
        for (step, branch) in branches {
            if !first.is_empty() && steps.is_empty() {
                self.common[position].columns = Some(columns_of(&cte.alias.columns, &first)?);
            }
            let number = std::mem::replace(&mut self.common[position].number, last);
            self.common[position].readers = 0;
            self.rounds += usize::from(!first.is_empty());
            let volatile_calls = self.volatile.calls;
            let bound = self.branch(branch);
            if self.rounds > 0 && self.volatile.calls != volatile_calls {
                return Err(SqlError::unsupported("RAND() and its like in a recursive query block"));
            }
            self.rounds -= usize::from(!first.is_empty());
            self.common[position].number = number;
            let (plan, columns) = bound?;
            match self.common[position].readers {
                0 if steps.is_empty() => first.push((step, (plan, columns))),
                0 => return Err(requires_first(cte)),
                1 => {
                    let width = self.common[position].columns.as_ref().map_or(0, |(names, _)| names.len());
                    self.check_step(cte, &plan, (columns.len(), width))?;
                    steps.push((step, plan));
                }
                _ => return Err(requires_one_reader(cte)),
            }
        }
        let recursion = if steps.is_empty() {
            None
        } else if !parts.withs.is_empty() {
            return Err(SqlError::unsupported("WITH in a recursive common table expression"));
        } else {
            Some(self.recursion(cte, last, &parts, position, steps)?)
        };
        let (mut plan, columns) = match first.as_slice() {
            _ if recursion.is_none() => self.set_of(first, &parts)?,
            [_] => first.pop().map(|(_, query)| query).ok_or_else(|| requires_first(cte))?,
            _ => self.set_of(first, &QueryParts::bare(body))?,
        };
        self.close_with(before, &mut plan);
        let scope = &mut self.common[position];
        if recursion.is_none() {
            let names = names_of(&cte.alias.columns, &columns)?;
            scope.columns = Some((names, columns));
        }
        (scope.readers, scope.is_read_again) = (0, false);
        scope.made = Some((plan, recursion));
        Ok(())
    }

    /// Refuses what must not stand in a part that reads its own expression.
    fn check_step(&self, cte: &Cte, plan: &SelectPlan, widths: (usize, usize)) -> Result<(), SqlError> {
        if widths.0 != widths.1 {
            let text = "The used SELECT statements have a different number of columns";
            return Err(SqlError::new(1222, text));
        }
        if plan.grouping.is_some() || plan.windows.is_some() {
            let text = "can contain neither aggregation nor window functions in recursive query block";
            return Err(recursive_error(3575, cte, text));
        }
        if plan.distinct || !plan.order_by.is_empty() || plan.limit.count.is_some() {
            return Err(SqlError::unsupported(
                "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
            ));
        }
        Ok(())
    }

    fn recursion(
        &mut self,
        cte: &Cte,
        last: u32,
        parts: &QueryParts<'_>,
        position: usize,
        steps: Vec<(SetStep, SelectPlan)>,
    ) -> Result<Recursion, SqlError> {
        if steps.iter().any(|(step, _)| step.verb != SetVerb::Union) {
            return Err(requires_union(cte));
        }
        let drops = |step: &SetStep| step.equals == Equals::Dropped;
        if steps.windows(2).any(|pair| drops(&pair[0].0) && !drops(&pair[1].0)) {
            return Err(SqlError::unsupported(
                "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive common table expression",
            ));
        }
        if !parts.order_by.is_empty() {
            return Err(SqlError::unsupported("ORDER BY over UNION in recursive Common Table Expression"));
        }
        let equals = if steps.iter().any(|(step, _)| drops(step)) { Equals::Dropped } else { Equals::Kept };
        let limit: Limit = self.limit_clause(parts.limit)?;
        let (names, columns) = self.common[position].columns.clone().unwrap_or_default();
        let columns = query_table(&cte.alias.name.value, &names, &columns, 0).definition;
        let steps = steps.into_iter().map(|(_, plan)| plan).collect();
        Ok(Recursion { last, columns, steps, equals, limit })
    }

    /// The innermost expression of this name, as a table of FROM.
    pub(super) fn common_table(
        &mut self,
        name: &str,
        alias: Option<&str>,
        next_slot: &mut u16,
    ) -> Option<Result<Part, SqlError>> {
        let position = self.common.iter().rposition(|scope| scope.name == name)?;
        Some(self.read_common(position, alias, next_slot))
    }

    fn read_common(
        &mut self,
        position: usize,
        alias: Option<&str>,
        next_slot: &mut u16,
    ) -> Result<Part, SqlError> {
        let place = (self.outward.blocks.len(), self.rounds);
        let scope = &mut self.common[position];
        let Some((names, columns)) = &scope.columns else {
            let text = format!(
                "Recursive Common Table Expression '{}' should have one or more non-recursive query blocks followed by one \
                 or more recursive ones",
                scope.name
            );
            return Err(SqlError::new(FIRST_READS_ITSELF, text));
        };
        scope.readers += 1;
        scope.is_read_again |= place.0 > scope.place.0 || place.1 > scope.place.1;
        if scope.made.is_none() && place.0 > scope.place.0 {
            // Within a subquery of its own recursion.
            scope.readers += 1;
        }
        let alias = alias.unwrap_or(&scope.name).to_owned();
        let width = names.len();
        let first_slot = take_slots(next_slot, width)?;
        let table = query_table(&alias, names, columns, first_slot);
        let read = CommonRead { number: scope.number, alias, names: names.clone() };
        let relation = Relation::Common(Arc::new(read));
        let draft = Draft::query(relation, width, first_slot);
        Ok(Part::of_one(draft, table))
    }

    /// Refuses a recursion's own rows on the side of an outer join whose rows may be missing.
    pub(super) fn check_optional(&self, draft: &Draft) -> Result<(), SqlError> {
        match draft {
            Draft::Query { relation: Relation::Common(read), .. } => {
                let is_own = |scope: &&CommonScope| scope.made.is_none() && scope.number == read.number;
                let Some(scope) = self.common.iter().find(is_own) else { return Ok(()) };
                let text = format!(
                    "In recursive query block of Recursive Common Table Expression '{}', the recursive table must neither be \
                     in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints",
                    scope.name
                );
                Err(SqlError::new(3576, text))
            }
            Draft::Join { left, right, .. } => {
                self.check_optional(left)?;
                self.check_optional(right)
            }
            Draft::One | Draft::Table { .. } | Draft::Query { .. } => Ok(()),
        }
    }

    /// Queries that are bound may run again: those that they read have to be kept.
    pub(super) fn read_common_again(&mut self) {
        self.common.iter_mut().for_each(|scope| scope.is_read_again = true);
    }

    /// Whether a table of this name is an expression of WITH.
    pub(super) fn is_common(&self, name: &str) -> bool {
        self.common.iter().any(|scope| scope.name == name)
    }
}

impl CommonScope {
    /// For the plan; None if nobody reads it.
    fn table(self) -> Option<Arc<CommonTable>> {
        let (query, recursion) = self.made?;
        let reads = if self.readers > 1 || self.is_read_again { Reads::Often } else { Reads::Once };
        let Self { name, number, readers, .. } = self;
        (readers > 0).then(|| Arc::new(CommonTable { number, name, query, recursion, reads }))
    }
}

/// The columns of a recursion: those of its first parts, all of which may be NULL.
fn columns_of(
    listed: &[TableAliasColumnDef],
    first: &[(SetStep, BoundQuery)],
) -> Result<(Vec<String>, Vec<ResultColumn>), SqlError> {
    let mut columns = united(first)?;
    columns.iter_mut().for_each(|column| column.nullable = true);
    Ok((names_of(listed, &columns)?, columns))
}

/// ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST.
const FIRST_READS_ITSELF: u16 = 3574;

fn recursive_error(code: u16, cte: &Cte, text: &str) -> SqlError {
    let name = &cte.alias.name.value;
    SqlError::new(code, format!("Recursive Common Table Expression '{name}' {text}"))
}

fn requires_union(cte: &Cte) -> SqlError {
    recursive_error(3573, cte, "should contain a UNION")
}

fn requires_first(cte: &Cte) -> SqlError {
    let text = "should have one or more non-recursive query blocks followed by one or more recursive ones";
    recursive_error(FIRST_READS_ITSELF, cte, text)
}

fn requires_one_reader(cte: &Cte) -> SqlError {
    let name = &cte.alias.name.value;
    let text = format!(
        "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be referenced only \
         once, and not in any subquery"
    );
    SqlError::new(3577, text)
}
