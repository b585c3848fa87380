//! Derive macros for the traits of `warploom-state`.
//!
//! All fields of a type are its state. An attribute marks the others:
//!
//! | attribute | meaning |
//! |---|---|
//! | `#[state(fixed)]` | The field follows from configuration or launch, and is not saved. |
//! | `#[state(scratch)]` | The field has no contents where state is saved, and is not saved. |
//! | `#[state(each)]` | The field is a list of fixed length. Its elements are restored in place. |
//! | `#[state(with = "f")]` | The function `f(field, io)` saves and restores the field. |

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Data, DeriveInput, Error, Field, Fields, Generics, Ident, LitStr, Path, Result, parse_quote,
};

/// Implements `State`: every field is saved, or restored in place.
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input, Kind::State)
}

/// Implements `State` and `Value`: the whole of it is saved, and it can be made from nothing.
#[proc_macro_derive(Value, attributes(state))]
pub fn derive_value(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input, Kind::Value)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    State,
    Value,
}

/// Way in which a field is saved.
enum Way {
    Whole,
    Each,
    With(Path),
    Not,
}

fn expand(input: proc_macro::TokenStream, kind: Kind) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let code = implementation(&input, kind);
    code.unwrap_or_else(Error::into_compile_error).into()
}

fn implementation(input: &DeriveInput, kind: Kind) -> Result<TokenStream> {
    let name = &input.ident;
    let generics = bounded(&input.generics);
    let (impls, types, clause) = generics.split_for_impl();
    let (body, blank) = match &input.data {
        Data::Struct(data) => of_struct(&data.fields)?,
        Data::Enum(data) => of_enum(name, data, kind)?,
        Data::Union(_) => return Err(Error::new(name.span(), "a union has no state")),
    };
    let value = (kind == Kind::Value).then(|| {
        quote! {
            #[automatically_derived]
            impl #impls ::warploom_state::Value for #name #types #clause {
                fn blank() -> Self {
                    #blank
                }
            }
        }
    });
    Ok(quote! {
        #[automatically_derived]
        impl #impls ::warploom_state::State for #name #types #clause {
            fn state(
                &mut self,
                io: &mut ::warploom_state::Io<'_>,
            ) -> ::core::result::Result<(), ::warploom_state::StateError> {
                let _ = &io;
                #body
                ::core::result::Result::Ok(())
            }
        }
        #value
    })
}

/// Generics in which type parameters without a bound are values.
fn bounded(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    for param in generics.type_params_mut() {
        if param.bounds.is_empty() {
            param.bounds.push(parse_quote!(::warploom_state::Value));
        }
    }
    generics
}

fn of_struct(fields: &Fields) -> Result<(TokenStream, TokenStream)> {
    let (pattern, work) = pattern_and_work(fields)?;
    let blank = blank_of(fields)?;
    Ok((
        quote! {
            let Self #pattern = self;
            #work
        },
        quote!(Self #blank),
    ))
}

fn of_enum(name: &Ident, data: &syn::DataEnum, kind: Kind) -> Result<(TokenStream, TokenStream)> {
    let (mut numbers, mut blanks, mut works) = (Vec::new(), Vec::new(), Vec::new());
    for (number, variant) in data.variants.iter().enumerate() {
        let number = u8::try_from(number)
            .map_err(|_| Error::new(variant.span(), "more than 256 variants"))?;
        let (name, fields) = (&variant.ident, &variant.fields);
        let (pattern, work) = pattern_and_work(fields)?;
        numbers.push(quote!(Self::#name { .. } => #number,));
        works.push(quote!(Self::#name #pattern => { #work }));
        if kind == Kind::Value {
            let blank = blank_of(fields)?;
            blanks.push(quote!(#number => Self::#name #blank,));
        }
    }
    let text = name.to_string();
    let other = match kind {
        Kind::State => quote! {
            if number != own {
                return Err(::warploom_state::StateError::Variant(#text));
            }
        },
        Kind::Value => quote! {
            if number != own {
                *self = match number {
                    #(#blanks)*
                    _ => return Err(::warploom_state::StateError::Variant(#text)),
                };
            }
        },
    };
    let first = data.variants.first();
    let first = first.ok_or_else(|| Error::new(name.span(), "no variant"))?;
    let (first, blank) = (&first.ident, blank_of(&first.fields));
    let blank = match kind {
        Kind::State => quote!(),
        Kind::Value => {
            let blank = blank?;
            quote!(Self::#first #blank)
        }
    };
    let body = quote! {
        let own: u8 = match self { #(#numbers)* };
        let mut number = own;
        ::warploom_state::State::state(&mut number, io)?;
        #other
        match self { #(#works)* }
    };
    Ok((body, blank))
}

/// The pattern that names all fields, and the code that saves or restores them.
fn pattern_and_work(fields: &Fields) -> Result<(TokenStream, TokenStream)> {
    let (mut names, mut work) = (Vec::new(), Vec::new());
    for (at, field) in fields.iter().enumerate() {
        let own = format_ident!("field_{at}");
        let way = way_of(field)?;
        let bound = match &way {
            Way::Not => quote!(_),
            _ => quote!(#own),
        };
        names.push(match &field.ident {
            Some(name) => quote!(#name: #bound),
            None => bound,
        });
        match way {
            Way::Whole => work.push(quote!(::warploom_state::State::state(#own, io)?;)),
            Way::Each => work.push(quote!(::warploom_state::each(#own.iter_mut(), io)?;)),
            Way::With(function) => work.push(quote!(#function(#own, io)?;)),
            Way::Not => {}
        }
    }
    let pattern = match fields {
        Fields::Named(_) => quote!({ #(#names),* }),
        Fields::Unnamed(_) => quote!(( #(#names),* )),
        Fields::Unit => quote!(),
    };
    Ok((pattern, quote!(#(#work)*)))
}

/// The fields of a blank value.
fn blank_of(fields: &Fields) -> Result<TokenStream> {
    let blank = quote!(::warploom_state::Value::blank());
    Ok(match fields {
        Fields::Named(named) => {
            let names = named.named.iter().map(|field| &field.ident);
            quote!({ #(#names: #blank),* })
        }
        Fields::Unnamed(unnamed) => {
            let all = unnamed.unnamed.iter().map(|_| &blank);
            quote!(( #(#all),* ))
        }
        Fields::Unit => quote!(),
    })
}

fn way_of(field: &Field) -> Result<Way> {
    let mut way = Way::Whole;
    for attribute in &field.attrs {
        if !attribute.path().is_ident("state") {
            continue;
        }
        attribute.parse_nested_meta(|meta| {
            way = match &meta.path {
                path if path.is_ident("fixed") || path.is_ident("scratch") => Way::Not,
                path if path.is_ident("each") => Way::Each,
                path if path.is_ident("with") => {
                    let name: LitStr = meta.value()?.parse()?;
                    Way::With(name.parse()?)
                }
                _ => {
                    let expected = "`fixed`, `scratch`, `each` or `with` is expected";
                    return Err(meta.error(expected));
                }
            };
            Ok(())
        })?;
    }
    Ok(way)
}
