//! `#[derive(Signals)]`: the table of signals. Each variant of the enum says in one attribute all that is known of it:
//!
//! ```text
//! #[signal(to = ldm, fence = strict)]                  its receiver; the meaning of its view for the receiver
//! #[signal(to(sql, main), fence = older, deferrable)]  modules of several kinds receive it
//! #[signal(to = ldm, fence = older, slot = participant.slot)]    where its slot is, unless it has a field `slot`
//! ```
//! The derive makes `ALL`, `name`, `fence`, `is_for`, `is_deferrable` and `slot` of it. It also makes the macro
//! `not_for!`, the pattern of all signals that never reach a kind of module. A dispatcher begins with that pattern.
//! Then the compiler demands an arm for each signal of its kind, and warns of an arm for any other.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use std::collections::BTreeMap;
use syn::meta::ParseNestedMeta;
use syn::{Data, DeriveInput, Expr, Fields, Ident, Member, Variant, parenthesized, punctuated::Punctuated};

/// The words of a variant's attribute.
#[derive(Default)]
struct Line {
    to: Vec<Ident>,
    fence: Option<Ident>,
    is_deferrable: bool,
    slot: Option<Expr>,
}

/// The kinds of modules, as attributes and `not_for!` call them, and their variants of `ModuleKind`.
const KINDS: [(&str, &str); 7] = [
    ("sql", "Sql"),
    ("tc", "Tc"),
    ("ldm", "Ldm"),
    ("query", "Query"),
    ("main", "Main"),
    ("membership", "Membership"),
    ("disk", "Disk"),
];
/// The fences likewise.
const FENCES: [(&str, &str); 3] = [("none", "None"), ("older", "Older"), ("strict", "Strict")];

/// The variant that a word of an attribute stands for.
fn named(word: &Ident, names: &[(&str, &str)]) -> syn::Result<Ident> {
    let found = names.iter().find(|(name, _)| word == name);
    found.map(|(_, variant)| format_ident!("{variant}", span = word.span())).ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        syn::Error::new_spanned(word, format!("expected one of: {}", known.join(", ")))
    })
}

fn read_receivers(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<Ident>> {
    let words = if meta.input.peek(syn::token::Paren) {
        let list;
        parenthesized!(list in meta.input);
        Punctuated::<Ident, syn::Token![,]>::parse_terminated(&list)?.into_iter().collect()
    } else {
        vec![meta.value()?.parse::<Ident>()?]
    };
    words.iter().map(|word| named(word, &KINDS)).collect()
}

fn line_of(variant: &Variant) -> syn::Result<Line> {
    let mut line = Line::default();
    for attribute in variant.attrs.iter().filter(|attribute| attribute.path().is_ident("signal")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("to") {
                line.to = read_receivers(&meta)?;
            } else if meta.path.is_ident("fence") {
                line.fence = Some(named(&meta.value()?.parse::<Ident>()?, &FENCES)?);
            } else if meta.path.is_ident("deferrable") {
                line.is_deferrable = true;
            } else if meta.path.is_ident("slot") {
                line.slot = Some(meta.value()?.parse::<Expr>()?);
            } else {
                return Err(meta.error("expected to, fence, deferrable or slot"));
            }
            Ok(())
        })?;
    }
    if line.to.is_empty() {
        let message =
            "which modules receive it, and what do views mean for it? #[signal(to = ldm, fence = strict)]";
        return Err(syn::Error::new_spanned(variant, message));
    }
    Ok(line)
}

/// The first name of `a.b.c`.
fn head_of(expression: &Expr) -> syn::Result<Ident> {
    if let Expr::Path(path) = expression {
        return Ok(path.path.require_ident()?.clone());
    }
    if let Expr::Field(field) = expression
        && matches!(field.member, Member::Named(_))
    {
        return head_of(&field.base);
    }
    Err(syn::Error::new_spanned(expression, "expected a field, or a field of a field"))
}

/// The arm of `slot()` of a variant that has one.
fn slot_arm(variant: &Variant, line: &Line) -> syn::Result<Option<Tokens>> {
    let name = &variant.ident;
    Ok(match (&variant.fields, &line.slot) {
        (Fields::Named(fields), None) => {
            let has_slot =
                fields.named.iter().any(|field| field.ident.as_ref().is_some_and(|name| name == "slot"));
            has_slot.then(|| quote!(Self::#name { slot, .. } => Some(*slot)))
        }
        (Fields::Named(_), Some(place)) => {
            let head = head_of(place)?;
            Some(quote!(Self::#name { #head, .. } => Some(#place)))
        }
        (Fields::Unnamed(_), Some(place)) => {
            head_of(place)?;
            Some(quote!(Self::#name(carried) => Some(carried.#place)))
        }
        (Fields::Unnamed(_) | Fields::Unit, None) => None,
        (Fields::Unit, Some(place)) => return Err(syn::Error::new_spanned(place, "it has no fields")),
    })
}

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<Tokens> {
    let signal = &input.ident;
    let Data::Enum(data) = &input.data else {
        return Err(syn::Error::new_spanned(input, "only an enum is a table of signals"));
    };
    let mut entries = Vec::new();
    let mut names = Vec::new();
    let mut receivers: BTreeMap<String, (Tokens, Vec<&Ident>)> = BTreeMap::new();
    let mut fences: BTreeMap<String, (Ident, Vec<&Ident>)> = BTreeMap::new();
    let (mut deferrable, mut slots) = (Vec::new(), Vec::new());
    let (mut with_slot, mut without_slot): (Vec<&Ident>, Vec<&Ident>) = (Vec::new(), Vec::new());
    let mut others: Vec<Vec<&Ident>> = vec![Vec::new(); KINDS.len()];
    for variant in &data.variants {
        let name = &variant.ident;
        let line = line_of(variant)?;
        let Some(fence) = line.fence.clone() else {
            return Err(syn::Error::new_spanned(
                variant,
                "what do views mean for it? fence = none, older or strict",
            ));
        };
        let (to, text, is_deferrable) = (&line.to, name.to_string(), line.is_deferrable);
        entries.push(quote!(SignalEntry {
            name: #text,
            to: &[#(crate::ModuleKind::#to),*],
            fence: Fence::#fence,
            is_deferrable: #is_deferrable,
        }));
        names.push(quote!(Self::#name { .. } => #text));
        let mask = quote!(#(1_u8 << crate::ModuleKind::#to as u8)|*);
        receivers.entry(mask.to_string()).or_insert((mask, Vec::new())).1.push(name);
        fences.entry(fence.to_string()).or_insert((fence, Vec::new())).1.push(name);
        if is_deferrable {
            deferrable.push(name);
        }
        match slot_arm(variant, &line)? {
            Some(arm) => {
                slots.push(arm);
                with_slot.push(name);
            }
            None => without_slot.push(name),
        }
        for (others, (_, kind)) in others.iter_mut().zip(KINDS) {
            if !to.iter().any(|to| to == kind) {
                others.push(name);
            }
        }
    }
    let receiver_arms = receivers.values().map(|(mask, names)| quote!(#(Self::#names { .. })|* => #mask));
    let fence_arms = fences.values().map(|(fence, names)| quote!(#(Self::#names { .. })|* => Fence::#fence));
    let others_arms = KINDS.iter().zip(&others).map(|((word, _), names)| {
        let kind = format_ident!("{word}");
        let pattern = |names: &[&Ident]| quote!(#($crate::#signal::#names { .. })|*);
        let with = |more: &[&Ident]| {
            let more = more.iter().filter(|name| !names.contains(name));
            pattern(&names.iter().chain(more).copied().collect::<Vec<_>>())
        };
        let (whole, slots, module) = (pattern(names), with(&without_slot), with(&with_slot));
        quote! {
            (#kind) => { #whole };
            (#kind, slots) => { #slots };
            (#kind, module) => { #module };
        }
    });
    Ok(quote! {
        impl #signal {
            /// The table of signals, a line for each variant, in their order.
            pub const ALL: &'static [SignalEntry] = &[#(#entries),*];

            /// The name of its variant.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { #(#names),* }
            }

            /// The meaning of its view for its receiver.
            #[must_use]
            #[inline]
            pub const fn fence(&self) -> Fence {
                match self { #(#fence_arms),* }
            }

            /// Whether modules of this kind receive it.
            #[must_use]
            #[inline]
            pub const fn is_for(&self, kind: crate::ModuleKind) -> bool {
                let receivers = match self { #(#receiver_arms),* };
                receivers & (1_u8 << kind as u8) != 0
            }

            /// Whether a driver may hold the signal back for a moment, to let it travel with others that go the same
            /// way: nobody waits for it. It keeps its place between the signals of its sender to its receiver.
            #[must_use]
            pub const fn is_deferrable(&self) -> bool {
                matches!(self, #(Self::#deferrable { .. })|*)
            }

            /// The slot that it is about, if it is about one.
            #[must_use]
            pub fn slot(&self) -> Option<::types::SlotId> {
                match self {
                    #(#slots,)*
                    #(Self::#without_slot { .. })|* => None,
                }
            }
        }

        /// The pattern of all signals that modules of a kind never receive: `not_for!(ldm)`. It is the first arm of
        /// that kind's dispatcher. Then the compiler demands an arm for each signal that the kind receives, and warns
        /// of an arm for any other. Two dispatchers share a kind if one handles what names a slot and the other the
        /// rest: `not_for!(ldm, slots)` and `not_for!(ldm, module)`.
        #[macro_export]
        macro_rules! not_for { #(#others_arms)* }
    })
}
