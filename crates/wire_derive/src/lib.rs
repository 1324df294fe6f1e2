//! `#[derive(Wire)]` and `#[derive(Signals)]`, which has a file of its own.
//!
//! `#[derive(Wire)]`: the binary form of a struct (its fields in order) or an enum (a one-byte tag, then the variant's
//! fields).
//!
//! Attributes: `#[wire(tag = N)]` on a variant (default: its position), `#[wire(since = V)]` on a field (omitted below
//! wire version V, `Default` when read), `#[wire(bytes)]` on a `Vec<u8>` field (copied in one piece). A field with
//! `#[wire(unsent)]` is always omitted.
//! A recursive enum must box its recursion (`Box`, `Arc` or `Vec` of boxes): boxes count the depth. `#[wire(nested)]`
//! on the type counts it too.

mod signals;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Field, Fields, LitInt, parse_macro_input};

#[derive(Default)]
struct Options {
    tag: Option<u8>,
    since: Option<u16>,
    unsent: bool,
    bytes: bool,
    nested: bool,
}

fn options(attributes: &[Attribute]) -> syn::Result<Options> {
    let mut options = Options::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("wire")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("tag") {
                options.tag = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?);
            } else if meta.path.is_ident("since") {
                options.since = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?);
            } else if meta.path.is_ident("unsent") {
                options.unsent = true;
            } else if meta.path.is_ident("bytes") {
                options.bytes = true;
            } else if meta.path.is_ident("nested") {
                options.nested = true;
            } else {
                return Err(meta.error("expected tag, since, unsent, bytes or nested"));
            }
            Ok(())
        })?;
    }
    Ok(options)
}

fn encode_field(field: &Field, access: &Tokens) -> syn::Result<Tokens> {
    let options = options(&field.attrs)?;
    if options.unsent {
        return Ok(quote!(let _ = #access;));
    }
    let write = if options.bytes {
        quote!(::stdx::wire::encode_bytes(#access, encoder);)
    } else {
        quote!(::stdx::wire::Wire::encode(#access, encoder);)
    };
    Ok(match options.since {
        Some(since) => quote!(if encoder.version >= #since { #write }),
        None => write,
    })
}

fn decode_field(field: &Field) -> syn::Result<Tokens> {
    let options = options(&field.attrs)?;
    if options.unsent {
        return Ok(quote!(::core::default::Default::default()));
    }
    let read = if options.bytes {
        quote!(::stdx::wire::decode_bytes(decoder)?.to_vec())
    } else {
        quote!(::stdx::wire::Wire::decode(decoder)?)
    };
    Ok(match options.since {
        Some(since) => {
            quote!(if decoder.version >= #since { #read } else { ::core::default::Default::default() })
        }
        None => read,
    })
}

fn decode_fields(path: &Tokens, fields: &Fields) -> syn::Result<Tokens> {
    let reads = fields.iter().map(decode_field).collect::<syn::Result<Vec<_>>>()?;
    Ok(match fields {
        Fields::Named(named) => {
            let names = named.named.iter().map(|field| &field.ident);
            quote!(#path { #(#names: #reads),* })
        }
        Fields::Unnamed(_) => quote!(#path(#(#reads),*)),
        Fields::Unit => quote!(#path),
    })
}

fn bindings(fields: &Fields) -> Vec<syn::Ident> {
    (0..fields.len()).map(|index| format_ident!("field_{index}")).collect()
}

fn pattern(path: &Tokens, fields: &Fields) -> Tokens {
    let bound = bindings(fields);
    match fields {
        Fields::Named(named) => {
            let names = named.named.iter().map(|field| &field.ident);
            quote!(#path { #(#names: #bound),* })
        }
        Fields::Unnamed(_) => quote!(#path(#(#bound),*)),
        Fields::Unit => quote!(#path),
    }
}

fn encode_fields(fields: &Fields) -> syn::Result<Vec<Tokens>> {
    fields.iter().zip(bindings(fields)).map(|(field, name)| encode_field(field, &quote!(#name))).collect()
}

fn expand(input: &DeriveInput) -> syn::Result<Tokens> {
    let name = &input.ident;
    let (encode, decode) = match &input.data {
        Data::Struct(data) => {
            let path = quote!(Self);
            let pattern = pattern(&path, &data.fields);
            let writes = encode_fields(&data.fields)?;
            let read = decode_fields(&path, &data.fields)?;
            (quote!(let #pattern = self; #(#writes)*), quote!(Ok(#read)))
        }
        Data::Enum(data) => {
            let (mut encode_arms, mut decode_arms) = (Vec::new(), Vec::new());
            for (position, variant) in data.variants.iter().enumerate() {
                let variant_name = &variant.ident;
                let path = quote!(Self::#variant_name);
                let default = u8::try_from(position)
                    .map_err(|_| syn::Error::new_spanned(variant, "too many variants"))?;
                let tag = options(&variant.attrs)?.tag.unwrap_or(default);
                let pattern = pattern(&path, &variant.fields);
                let writes = encode_fields(&variant.fields)?;
                let read = decode_fields(&path, &variant.fields)?;
                encode_arms.push(quote!(#pattern => { encoder.bytes.push(#tag); #(#writes)* }));
                decode_arms.push(quote!(#tag => #read));
            }
            (
                quote!(match self { #(#encode_arms)* }),
                quote!(Ok(match <u8 as ::stdx::wire::Wire>::decode(decoder)? {
                    #(#decode_arms,)*
                    _ => return Err(::stdx::wire::WireError::UnknownTag),
                })),
            )
        }
        Data::Union(_) => return Err(syn::Error::new_spanned(input, "unions have no binary form")),
    };
    let decode =
        if options(&input.attrs)?.nested { quote!(decoder.nested(|decoder| { #decode })) } else { decode };
    // Ids and addresses are in every signal: without a hint each is a call.
    let inline = if matches!(input.data, Data::Struct(_)) { quote!(#[inline]) } else { quote!() };
    Ok(quote! {
        impl ::stdx::wire::Wire for #name {
            #inline
            fn encode(&self, encoder: &mut ::stdx::wire::Encoder<'_>) { #encode }
            #inline
            fn decode(decoder: &mut ::stdx::wire::Decoder<'_>) -> ::core::result::Result<Self, ::stdx::wire::WireError> { #decode }
        }
    })
}

/// Derives `stdx::wire::Wire`.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Derives the table of signals.
#[proc_macro_derive(Signals, attributes(signal))]
pub fn derive_signals(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    signals::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
