//! Well-formed XML as a stream of tags with byte offsets.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::errors::{Error as XmlError, IllFormedError, SyntaxError};
use quick_xml::escape::EscapeError;
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::op::attrs::Attr;

/// What is not well-formed, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IllFormed {
    pub(super) offset: usize,
    pub(super) message: String,
}

/// A piece of the document. An empty element is an `Open` and a `Close`.
#[derive(Debug)]
pub(super) enum Tag<'a> {
    Open(Element<'a>),
    Close,
    Text(Cow<'a, str>),
    End,
}

/// An opening tag.
#[derive(Debug)]
pub(super) struct Element<'a> {
    pub(super) name: &'a str,
    /// Offset of the `<`.
    pub(super) offset: usize,
    pub(super) attributes: Vec<Attr<'a>>,
}

impl<'a> Element<'a> {
    /// The value of an attribute.
    pub(super) fn get(&self, name: &str) -> Option<&Attr<'a>> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

/// The stream of tags.
pub(super) struct Tags<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    depth: usize,
    seen_root: bool,
    /// The operation documents print layers with a `...` among the attributes.
    fragment: bool,
}

impl<'a> Tags<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Self {
            text,
            reader,
            depth: 0,
            seen_root: false,
            fragment: false,
        }
    }

    /// The next piece.
    pub(super) fn next(&mut self) -> Result<Tag<'a>, IllFormed> {
        loop {
            let start = self.position();
            let event = match self.reader.read_event() {
                Ok(event) => event,
                Err(error) => return Err(self.ill_formed(&error)),
            };
            match event {
                Event::Start(tag) | Event::Empty(tag) => return self.open(&tag, start),
                Event::End(_) => {
                    self.depth -= 1;
                    return Ok(Tag::Close);
                }
                Event::Text(text) => {
                    if let Some(text) = self.text(text.into_inner(), start)? {
                        return Ok(text);
                    }
                }
                Event::CData(text) => {
                    if let Some(text) = self.text(text.into_inner(), start)? {
                        return Ok(text);
                    }
                }
                Event::GeneralRef(entity) => {
                    let text = self.entity(&entity, start)?;
                    if let Some(text) = self.text(Cow::Owned(text), start)? {
                        return Ok(text);
                    }
                }
                Event::Decl(_) if start != 0 => {
                    return Err(IllFormed {
                        offset: start,
                        message: "an XML declaration stands only at the very start".to_owned(),
                    });
                }
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_) => {}
                Event::Eof if !self.seen_root => {
                    return Err(IllFormed {
                        offset: start,
                        message: "the document has no element".to_owned(),
                    });
                }
                Event::Eof if self.depth > 0 => {
                    return Err(IllFormed {
                        offset: start,
                        message: format!("the document ends inside {} open elements", self.depth),
                    });
                }
                Event::Eof => return Ok(Tag::End),
            }
        }
    }

    fn position(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    fn open(&mut self, tag: &BytesStart<'a>, start: usize) -> Result<Tag<'a>, IllFormed> {
        if self.depth == 0 {
            if self.seen_root {
                return Err(IllFormed {
                    offset: start,
                    message: "a second root element".to_owned(),
                });
            }
            self.seen_root = true;
            self.fragment = tag.name().as_ref() == "layer";
        }
        self.depth += 1;
        let name = self.within(tag.name().as_ref()).0;
        let attributes = self.attributes(tag)?;
        Ok(Tag::Open(Element {
            name,
            offset: start,
            attributes,
        }))
    }

    fn attributes(&self, tag: &BytesStart<'a>) -> Result<Vec<Attr<'a>>, IllFormed> {
        let raw = tag.attributes_raw();
        if raw.trim_ascii().is_empty() {
            return Ok(Vec::new());
        }
        // Errors count from the start of the tag's name.
        let base = self.within(tag.name().as_ref()).1;
        let iter = if self.fragment {
            tag.html_attributes()
        } else {
            tag.attributes()
        };
        let mut attributes = Vec::with_capacity(6);
        for attribute in iter {
            let attribute = attribute.map_err(|e| attribute_error(base, &e))?;
            let (name, offset) = self.within(attribute.key.as_ref());
            if self.fragment && name == "..." {
                continue;
            }
            if attribute.value.contains('<') {
                return Err(IllFormed {
                    offset,
                    message: format!("a bare `<` in the value of attribute `{name}`"),
                });
            }
            let plain = !attribute
                .value
                .bytes()
                .any(|b| matches!(b, b'&' | b'\t' | b'\n' | b'\r'));
            let value = if plain {
                Cow::Borrowed(self.within(&attribute.value).0)
            } else {
                let value = attribute
                    .normalized_value(XmlVersion::Implicit1_0)
                    .map_err(|e| IllFormed {
                        offset,
                        message: format!("attribute `{name}`: {}", reference_error(&e)),
                    })?;
                Cow::Owned(value.into_owned())
            };
            attributes.push(Attr {
                name,
                value,
                offset,
            });
        }
        Ok(attributes)
    }

    /// A piece of the document that the parser handed out, with the document's own lifetime, and
    /// its offset.
    fn within(&self, piece: &str) -> (&'a str, usize) {
        let offset = piece
            .as_ptr()
            .addr()
            .wrapping_sub(self.text.as_ptr().addr());
        match self.text.get(offset..offset.saturating_add(piece.len())) {
            Some(text) => (text, offset),
            // Nothing handed out for a document in memory is a copy.
            None => ("", self.position()),
        }
    }

    fn text(&self, text: Cow<'a, str>, start: usize) -> Result<Option<Tag<'a>>, IllFormed> {
        if self.depth > 0 {
            return Ok(Some(Tag::Text(text)));
        }
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        Err(IllFormed {
            offset: start + (text.len() - text.trim_ascii_start().len()),
            message: "text outside the root element".to_owned(),
        })
    }

    fn entity(
        &self,
        entity: &quick_xml::events::BytesRef<'a>,
        start: usize,
    ) -> Result<String, IllFormed> {
        let name: &str = entity;
        let character = entity.resolve_char_ref().ok().flatten();
        character
            .map(String::from)
            .or_else(|| quick_xml::escape::resolve_predefined_entity(name).map(str::to_owned))
            .ok_or_else(|| IllFormed {
                offset: start,
                message: format!("`&{name};` is not a known reference"),
            })
    }

    fn ill_formed(&self, error: &XmlError) -> IllFormed {
        let offset = usize::try_from(self.reader.error_position()).unwrap_or(usize::MAX);
        let message = match error {
            XmlError::Syntax(SyntaxError::UnclosedTag) => "a tag is not closed".to_owned(),
            XmlError::IllFormed(IllFormedError::UnclosedReference) => {
                "a bare `&`; write `&amp;`".to_owned()
            }
            XmlError::IllFormed(IllFormedError::MismatchedEndTag { expected, found }) => {
                format!("expected `</{expected}>`, found `</{found}>`")
            }
            other => other.to_string(),
        };
        IllFormed { offset, message }
    }
}

fn attribute_error(base: usize, error: &AttrError) -> IllFormed {
    let (position, message) = match *error {
        AttrError::ExpectedEq(at) => (at, "an attribute needs `=` and a value"),
        AttrError::ExpectedValue(at) => (at, "an attribute needs a value after `=`"),
        AttrError::UnquotedValue(at) => (at, "an attribute's value stands in quotes"),
        AttrError::ExpectedQuote(at, _) => (at, "an attribute's value has no closing quote"),
        AttrError::Duplicated(at, _) => (at, "an attribute stands twice"),
    };
    IllFormed {
        offset: base.saturating_add(position),
        message: message.to_owned(),
    }
}

fn reference_error(error: &XmlError) -> String {
    match error {
        XmlError::Escape(EscapeError::UnterminatedEntity(_)) => {
            "a bare `&`; write `&amp;`".to_owned()
        }
        XmlError::Escape(EscapeError::UnrecognizedEntity(_, name)) => {
            format!("`&{name};` is not a known reference")
        }
        other => other.to_string(),
    }
}

/// Characters that no XML document may hold.
pub(super) fn forbidden_character(text: &str) -> Option<IllFormed> {
    let offset = text
        .bytes()
        .position(|b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r'))?;
    Some(IllFormed {
        offset,
        message: format!(
            "the control character U+{:04X} is not allowed",
            text.as_bytes()[offset]
        ),
    })
}
